import { parentPort, workerData } from 'node:worker_threads'
import type { FromThread, Job, ToThread } from './messages.ts'
import { runInSandbox } from './sandbox.ts'

if (parentPort === null) throw new Error('This runs in a thread of the host only.')
const port = parentPort
const job: Job = workerData
const answers = await runInSandbox(job, (message: FromThread) => port.postMessage(message))
port.on('message', ({ id, answer }: ToThread) => answers(id, answer))
