import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { announce } from './contract.ts'

/** Serves a handler of web requests on a free port and prints it for the tests. */
export function listenWeb(handle: (request: Request) => Promise<Response | null>): void {
  const server = createServer((request, response) => {
    answer(handle, request, response).catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1', () => {
    const address = server.address()
    if (typeof address === 'object' && address !== null) announce(`http://127.0.0.1:${address.port}/mcp`)
  })
}

async function answer(
  handle: (request: Request) => Promise<Response | null>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const gone = new AbortController()
  response.on('close', () => gone.abort())
  const answered = (await handle(await asWeb(request, gone.signal))) ?? new Response(null, { status: 404 })
  response.writeHead(answered.status, Object.fromEntries(answered.headers))
  response.flushHeaders()
  if (answered.body === null) {
    response.end()
    return
  }
  const body = Readable.from(answered.body)
  response.on('close', () => body.destroy())
  body.on('error', () => response.destroy())
  body.pipe(response)
}

async function asWeb(request: IncomingMessage, signal: AbortSignal): Promise<Request> {
  const { method = 'GET', url = '/', headers } = request
  const chunks: Uint8Array[] = []
  for await (const chunk of request) chunks.push(chunk)
  const pairs = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, [value].flat().join(', ')]],
  )
  return new Request(new URL(url, `http://${headers.host}`), {
    method,
    headers: pairs,
    signal,
    ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
  })
}
