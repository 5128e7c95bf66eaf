import { reasonOf } from '../../shared/text.ts'
import type { FromProgram, ToProgram } from './process.ts'
import { runInSandbox } from './sandbox.ts'

// Runs one program for the host that started this process, and ends with that host.

const host = process.send?.bind(process)
if (host === undefined) throw new Error('Only the host starts this.')
const tell = (message: FromProgram): void => {
  host(message)
}

let answers: ((id: number, answer: string) => void) | undefined
process.on('message', async (message: ToProgram) => {
  try {
    if (message.type === 'job') answers = await runInSandbox(message.job, tell)
    else answers?.(message.id, message.answer)
  } catch (error) {
    tell({ type: 'end', outcome: 'error', error: reasonOf(error) })
  }
})
