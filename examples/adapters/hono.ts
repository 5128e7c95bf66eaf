import { serveHttp } from '@jackfield/sdk/http'
import { Hono } from 'hono'
import { check, keys, server } from './shop.ts'

const handler = serveHttp(server, { keys })
const app = new Hono()
app.all('/mcp', (context) => handler.fetch(context.req.raw))

await check('http://localhost/mcp', async (url, init) => app.fetch(new Request(url, init)))
