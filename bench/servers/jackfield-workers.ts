import cluster from 'node:cluster'
import { createHash } from 'node:crypto'
import { defineServer, tool } from '@jackfield/sdk'
import { serveHttp } from '@jackfield/sdk/http'
import { echoInput, ready } from './host.ts'

// The server of bench/workers.ts: BENCH_WORKERS processes, and a tool that hashes BENCH_KB kilobytes for each call.

const bytes = new Uint8Array(Number(process.env['BENCH_KB']) * 1000)
const echo = tool({
  description: 'Says it again after some work',
  input: echoInput,
  run: ({ text }) => (bytes.length === 0 ? text : createHash('sha256').update(bytes).digest('hex')),
})
const server = defineServer({ name: 'jackfield-bench', version: '1.0.0', tools: { echo } })

const { port } = await serveHttp(server).listen({ workers: Number(process.env['BENCH_WORKERS']) })
if (cluster.isPrimary) ready(port)
