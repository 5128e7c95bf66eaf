import { connect } from '@jackfield/sdk/client'
import { stdio } from '@jackfield/sdk/client/stdio'

// Connects to servers, calls the tool of each that has one, and prints a line when all calls are running.

const commands: { command: string; args: string[]; calls: boolean }[] = JSON.parse(process.argv[2] ?? '[]')

async function begin({ command, args, calls }: (typeof commands)[number]): Promise<number> {
  let output = ''
  let atIt = (_pid: number): void => {}
  const running = new Promise<number>((resolve) => {
    atIt = resolve
  })
  const onStderr = (text: string): void => {
    if (output.length > 4_096) return
    output += text
    const [, pid] = /running (\d+)\n/.exec(output) ?? []
    if (pid !== undefined) atIt(Number(pid))
  }
  const client = await connect(stdio({ command, args, onStderr }))
  if (!calls) return 0
  client.call('run').catch(() => {})
  return running
}

const pids = await Promise.all(commands.map(begin))
console.log(JSON.stringify(pids))
setInterval(() => {}, 1_000)
