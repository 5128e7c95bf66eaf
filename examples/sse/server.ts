import { defineServer, tool } from '@jackfield/sdk'
import { type HttpListener, serveHttp } from '@jackfield/sdk/http'
import { z } from 'zod'

const greeter = defineServer({
  name: 'greeter',
  version: '1.0.0',
  tools: {
    greet: tool({ input: z.object({ name: z.string() }), run: ({ name }) => `Good day, ${name}.` }),
  },
})

/** Streamable HTTP at `/mcp`, and HTTP+SSE at `/sse` for clients that support nothing newer. */
export function startGreeter(): Promise<HttpListener> {
  return serveHttp(greeter, { sse: '/sse', keys: [crypto.getRandomValues(new Uint8Array(32))] }).listen()
}
