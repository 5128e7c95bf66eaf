import { HttpTransport } from '@tmcp/transport-http'
import { listenFetch } from './fetch.ts'
import { server } from './tmcp-server.ts'

const transport = new HttpTransport(server, { path: '/mcp' })

listenFetch({
  fetch: async (request) => (await transport.respond(request)) ?? new Response(null, { status: 404 }),
})
