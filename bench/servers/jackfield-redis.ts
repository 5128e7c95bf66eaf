import { redisBackplane } from '@jackfield/redis'
import { serveHttp } from '@jackfield/sdk/http'
import { port, ready } from './host.ts'
import { server } from './jackfield-server.ts'

// The server of jackfield.ts, with sessions that every node serves.

const backplane = await redisBackplane({ url: process.env['BENCH_REDIS'] ?? '' })
const listening = await serveHttp(server, { keys: ['k'.repeat(32)], backplane }).listen({ port })
ready(listening.port)
