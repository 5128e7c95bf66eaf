import { type ChildProcess, spawn } from 'node:child_process'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The repository's root folder. */
export const root: string = fileURLToPath(new URL('..', import.meta.url))

/** How a command ended, with everything it wrote in the order it was written. */
export interface Finished {
  code: number
  output: string
  timedOut: boolean
}

/** Runs a command of the workspace from its root; past the limit, it and its children are ended. */
export function run(
  command: readonly string[],
  options: {
    limitMs: number
    cwd?: string
    env?: Readonly<Record<string, string>>
    /** Called with what the command writes, while it runs. */
    onOutput?: (text: string) => void
  },
): Promise<Finished> {
  const [program = '', ...args] = command
  const env = {
    ...process.env,
    ...options.env,
    PATH: `${join(root, 'node_modules', '.bin')}${delimiter}${process.env['PATH'] ?? ''}`,
  }
  const windows = process.platform === 'win32'
  return new Promise((resolve, reject) => {
    const child = spawn(program === 'node' ? process.execPath : program, args, {
      cwd: options.cwd ?? root,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: !windows,
      shell: windows && program !== 'node',
    })
    let output = ''
    let timedOut = false
    const timer = setTimeout(() => {
      timedOut = true
      endTree(child)
    }, options.limitMs)
    const interrupted = (): void => endTree(child)
    process.once('SIGINT', interrupted)
    const onOutput = (text: string): void => {
      output += text
      options.onOutput?.(text)
    }
    child.stdout.setEncoding('utf8').on('data', onOutput)
    child.stderr.setEncoding('utf8').on('data', onOutput)
    child.once('error', reject)
    child.once('close', (code) => {
      clearTimeout(timer)
      process.removeListener('SIGINT', interrupted)
      resolve({ code: code ?? 1, output, timedOut })
    })
  })
}

function endTree(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null) return
  if (process.platform === 'win32') child.kill('SIGKILL')
  else process.kill(-child.pid, 'SIGKILL')
}
