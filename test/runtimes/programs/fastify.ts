import { fastify } from 'fastify'
import { mounted } from './app.ts'

// In a scope without body parsers, under a prefix.
const app = fastify()
app.register(
  async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (_request, _body, done) => done(null))
    for (const { path, handler } of mounted('/api')) {
      scope.all(path.slice('/api'.length), (request, reply) => {
        reply.hijack()
        handler.node(request.raw, reply.raw)
      })
    }
  },
  { prefix: '/api' },
)
console.log(await app.listen({ host: '127.0.0.1', port: 0 }))
