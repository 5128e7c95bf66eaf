import { parentPort, workerData } from 'node:worker_threads'
import { type ConversionJob, convert } from './convert.ts'

/** The worker thread of one conversion. Its parent terminates it at the time limit. */

const job: ConversionJob = workerData
for (const conversion of convert(job)) parentPort?.postMessage(conversion)
