import { spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { defineServer, tool } from '@jackfield/sdk'
import { serveStdio } from '@jackfield/sdk/stdio'

// A server whose one tool never answers, in the way its argument names.

const [habit = ''] = process.argv.slice(2)
const never = new Promise<string>(() => {})

/** Logs on and on, and what goes wrong with that too. */
async function chatter(): Promise<string> {
  process.on('uncaughtException', (error) => console.error(error))
  for (;;) {
    console.error('still working')
    console.log('still working')
    await sleep(5)
  }
}

function spin(): never {
  for (;;) if (process.pid === 0) throw new Error('Never')
}

const ways: Record<string, () => Promise<string>> = {
  waits: () => never,
  chatters: chatter,
  spins: async () => spin(),
  'is kept by a timer': () => never,
  'ignores SIGTERM': () => never,
}

if (habit === 'is kept by a timer') setInterval(() => {}, 1_000)
if (habit === 'ignores SIGTERM') {
  process.on('SIGTERM', () => {})
  spawn('sh', ['-c', 'trap "" TERM; sleep 1000 & wait'], { stdio: 'ignore' })
}
const run = (): Promise<string> => {
  console.error(`running ${process.pid}`)
  return sleep(1).then(() => ways[habit]?.() ?? 'answered')
}
serveStdio(defineServer({ name: 'habits', version: '1', tools: { run: tool({ description: 'Runs', run }) } }))
