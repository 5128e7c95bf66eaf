import { listen } from './host.ts'

const info = { 'io.modelcontextprotocol/serverInfo': { name: 'plain', version: '1.0.0' } }

// The limit: a JSON-RPC request is parsed and an answer of a tool call's size is written, with nothing in between.
listen((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const { id, params } = JSON.parse(Buffer.concat(chunks).toString())
    const content = [{ type: 'text', text: params.arguments.text }]
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id,
      result: { resultType: 'complete', content, _meta: info },
    })
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
    response.end(body)
  })
})
