import { reasonOf } from '../../shared/text.ts'
import type { FromProgram, ToProgram } from './process.ts'
import { runInSandbox } from './sandbox.ts'

// Runs one program for the host that started this process, and exits with that host.

const host = process.send?.bind(process)
if (host === undefined) throw new Error('This module runs in a process that the host forks.')
const send = (message: FromProgram): void => {
  host(message)
}

let answers: ((id: number, answer: string) => void) | undefined
process.on('message', async (message: ToProgram) => {
  try {
    if (message.type === 'job') answers = await runInSandbox(message.job, send)
    else answers?.(message.id, message.answer)
  } catch (error) {
    send({ type: 'end', outcome: 'error', error: reasonOf(error) })
  }
})
