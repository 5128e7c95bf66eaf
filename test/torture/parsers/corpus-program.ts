import { createServer, type RequestListener } from 'node:http'
import { defineServer, type Server, tool } from '@jackfield/sdk'
import { proxy } from '@jackfield/sdk/compose'
import { serveHttp } from '@jackfield/sdk/http'
import { serveStdio } from '@jackfield/sdk/stdio'
import { z } from 'zod'

// A server with two tools, on the way its argument names: on standard streams, over HTTP, or over HTTP behind a proxy of
// ours, where `/seen` gives the bodies that reached it.

const input = z.looseObject({ value: z.unknown() })

/** The result of a tool: its name, and whether a prototype was changed. */
function ran(name: string): string {
  return 'polluted' in {} || 'name' in {} ? `${name} with another prototype` : name
}

const server = defineServer({
  name: 'corpus',
  version: '1.0.0',
  tools: {
    safe: tool({ description: 'May be called', input, run: () => ran('safe') }),
    secret: tool({ description: 'Must not be called', input, run: () => ran('secret') }),
  },
})

async function listening(listener: RequestListener): Promise<string> {
  const http = createServer(listener)
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const address = http.address()
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
}

function handlerOf(served: Server): ReturnType<typeof serveHttp> {
  return serveHttp(served, { onWarning: () => {} })
}

function endWithParent(): void {
  process.stdin.resume().once('end', () => process.exit())
}

const [way] = process.argv.slice(2)
if (way === 'stdio') {
  serveStdio(server)
} else if (way === 'http') {
  endWithParent()
  const handler = handlerOf(server)
  console.log(`${await listening(handler.node)}/mcp`)
} else {
  endWithParent()
  const seen: string[] = []
  const inner = handlerOf(server)
  const upstream = await listening((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => seen.push(Buffer.concat(chunks).toString('base64')))
    inner.node(request, response)
  })
  const outer = handlerOf(await proxy(`${upstream}/mcp`, { onError: () => {} }))
  const url = await listening((request, response) => {
    if (request.url === '/seen') response.end(JSON.stringify(seen.splice(0)))
    else outer.node(request, response)
  })
  console.log(`${url}/mcp`)
}
