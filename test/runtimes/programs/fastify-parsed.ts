import { fastify } from 'fastify'
import { mounted } from './app.ts'

// With the body as Fastify itself reads it.
const app = fastify()
for (const { path, handler } of mounted()) {
  app.all(path, (request, reply) => {
    reply.hijack()
    handler.node(Object.assign(request.raw, { body: request.body }), reply.raw)
  })
}
console.log(await app.listen({ host: '127.0.0.1', port: 0 }))
