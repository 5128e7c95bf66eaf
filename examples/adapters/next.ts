import { serveHttp } from '@jackfield/sdk/http'
import { check, keys, server } from './shop.ts'

// app/api/mcp/route.ts
const { fetch } = serveHttp(server, { keys, path: '/api/mcp' })

export { fetch as DELETE, fetch as GET, fetch as OPTIONS, fetch as POST }

await check('http://localhost/api/mcp', (url, init) => fetch(new Request(url, init)))
