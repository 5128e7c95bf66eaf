import { serveHttp } from '@jackfield/sdk/http'
import { fastify } from 'fastify'
import { checkListening, keys, server } from './shop.ts'

const handler = serveHttp(server, { keys })
const app = fastify()
app.register(async (scope) => {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', (_request, _body, done) => done(null))
  scope.all('/mcp', (request, reply) => {
    reply.hijack()
    handler.node(request.raw, reply.raw)
  })
})
app.addHook('preClose', () => handler.close())

await app.listen({ host: '127.0.0.1', port: 0 })
await checkListening(app.server, '/mcp')
