import { Hono } from 'hono'
import { compress } from 'hono/compress'
import { cors } from 'hono/cors'
import { mounted, pageOrigin } from './app.ts'

/** Under a prefix, behind middleware that answers preflights, sets headers and compresses. */
export function honoApp(): Hono {
  const api = new Hono()
  for (const { path, handler } of mounted('/api')) {
    api.all(path.slice('/api'.length), (context) => handler.fetch(context.req.raw))
  }
  const app = new Hono()
  app.use(cors({ origin: [pageOrigin, 'https://evil.example'], exposeHeaders: ['Mcp-Session-Id'] }))
  app.use(compress({ threshold: 0 }))
  return app.route('/api', api)
}
