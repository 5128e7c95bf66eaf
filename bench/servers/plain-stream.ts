import { listen } from './host.ts'

// The limit: each notification is written as an event of its own, without a library.
listen((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const { id, params } = JSON.parse(Buffer.concat(chunks).toString())
    const { to } = params.arguments
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
    const send = (message: object): void => {
      response.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`)
    }
    for (let progress = 1; progress <= to; progress++) {
      const notice = { progressToken: 'p', progress, total: to, message: 'counting' }
      send({ method: 'notifications/progress', params: notice })
    }
    send({ id, result: { resultType: 'complete', content: [{ type: 'text', text: 'done' }] } })
    response.end()
  })
})
