import { parseArgs } from 'node:util'
import { serveHttp } from '@jackfield/sdk/http'
import { createConformanceServer } from './server/definition.ts'

const { values } = parseArgs({ options: { port: { type: 'string' } } })
const port = Number(values.port ?? process.env['PORT'] ?? 3000)

const http = serveHttp(createConformanceServer(), {
  keys: [crypto.getRandomValues(new Uint8Array(32))],
  // Some scenarios send an input response before the server has requested it.
  dangerouslyAcceptUnsentQuestions: true,
})
const { url } = await http.listen({ port }).catch((error: Error) => {
  console.error(`${error.message}. Give another port with --port`)
  process.exit(1)
})
console.log(`Conformance server at ${url}`)

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void http.close().finally(() => process.exit(0)))
}
