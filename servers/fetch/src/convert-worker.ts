import { parentPort, workerData } from 'node:worker_threads'
import { type ConversionJob, convert } from './convert.ts'

/** The thread of one conversion, which its parent ends when the time is over. */

const job: ConversionJob = workerData
for (const conversion of convert(job)) parentPort?.postMessage(conversion)
