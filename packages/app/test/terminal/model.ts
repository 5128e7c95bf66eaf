import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { onTestFinished } from 'vitest'

/** One request to the model, whose answer the test writes. */
export interface ModelRequest {
  readonly messages: { role: string; content: unknown }[]
  /** The text of the last message of the user. */
  readonly last: string
  readonly closed: boolean
  write(text: string): void
  end(text?: string): void
  call(name: string, args: object): void
  fail(status: number): void
}

/** A provider of the chat completions API on this machine, whose answers a test streams piece by piece. */
export async function model(): Promise<{
  env: Record<string, string>
  /** The next request that was not taken yet. */
  next(): Promise<ModelRequest>
  readonly count: number
}> {
  const requests: ModelRequest[] = []
  const waiting: ((request: ModelRequest) => void)[] = []
  let count = 0
  const server = createServer(async (req, res) => {
    if (req.method !== 'POST') return void res.writeHead(404).end()
    const request = await requestOf(req, res)
    count += 1
    const wanted = waiting.shift()
    if (wanted === undefined) requests.push(request)
    else wanted(request)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    env: {
      OPENAI_COMPATIBLE_BASE_URL: `http://127.0.0.1:${port}/v1`,
      OPENAI_COMPATIBLE_MODEL: 'test',
    },
    next() {
      const request = requests.shift()
      return request === undefined
        ? new Promise((resolve) => waiting.push(resolve))
        : Promise.resolve(request)
    },
    get count() {
      return count
    },
  }
}

async function requestOf(req: IncomingMessage, res: ServerResponse): Promise<ModelRequest> {
  let body = ''
  for await (const chunk of req) body += chunk
  const { messages } = JSON.parse(body)
  const send = (delta: object, reason: string | null = null): void => {
    if (!res.headersSent) res.writeHead(200, { 'content-type': 'text/event-stream' })
    const choices = [{ index: 0, delta, finish_reason: reason }]
    res.write(`data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', choices })}\n\n`)
  }
  const done = (reason: string): void => {
    send({}, reason)
    res.end('data: [DONE]\n\n')
  }
  const user = messages.findLast(({ role }: { role: string }) => role === 'user')
  const content = user?.content
  return {
    messages,
    last: Array.isArray(content) ? content.map(({ text }: { text?: string }) => text).join('\n') : content,
    get closed() {
      return res.destroyed
    },
    write: (text) => send({ role: 'assistant', content: text }),
    end(text = '') {
      if (text !== '') send({ role: 'assistant', content: text })
      done('stop')
    },
    call(name, args) {
      const tool = { name, arguments: JSON.stringify(args) }
      send({
        role: 'assistant',
        tool_calls: [{ index: 0, id: `c${Math.random()}`, type: 'function', function: tool }],
      })
      done('tool_calls')
    },
    fail(status) {
      res.writeHead(status, { 'content-type': 'application/json' })
      res.end(JSON.stringify({ error: { message: `failed with ${status}` } }))
    },
  }
}
