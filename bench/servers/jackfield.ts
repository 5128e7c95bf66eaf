import { serveHttp } from '@jackfield/sdk/http'
import { port, ready } from './host.ts'
import { server } from './jackfield-server.ts'

const listening = await serveHttp(server, { keys: [crypto.getRandomValues(new Uint8Array(32))] }).listen({
  port,
})
ready(listening.port)
