import type { RunningProcess } from './types.ts'

type Fields = Record<string, unknown>

const clientInfo = { name: 'raw-client', version: '1.0.0' }
const statelessMeta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': clientInfo,
  'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
}

/** A response, or an error of the client if none arrived in time. */
export interface Reply {
  result?: Fields
  error?: { code: number; message: string }
}

/** A client of a process over stdio, written without the SDK. It sends one request at a time. */
export class RawClient {
  readonly #process: RunningProcess
  #lastId = 0
  #offset = 0

  constructor(process: RunningProcess) {
    this.#process = process
  }

  /** Sends a request of revision 2026-07-28. */
  requestStateless(method: string, params: Fields = {}): Promise<Reply> {
    return this.request(method, { ...params, _meta: statelessMeta })
  }

  /** Starts a session of revision 2025-11-25. */
  async initialize(capabilities: Fields = {}): Promise<void> {
    await this.request('initialize', { protocolVersion: '2025-11-25', capabilities, clientInfo })
    this.#send({ method: 'notifications/initialized' })
  }

  /** Sends a request and returns its response. Accepts elicitations that arrive before it, with `content`. */
  async request(
    method: string,
    params: Fields,
    { content, timeoutMs = 60_000 }: { content?: Fields; timeoutMs?: number } = {},
  ): Promise<Reply> {
    const id = ++this.#lastId
    this.#send({ id, method, params })
    const deadline = performance.now() + timeoutMs
    while (performance.now() < deadline) {
      const line = this.#readLine()
      if (line === undefined) {
        await new Promise((resolve) => setTimeout(resolve, 50))
        continue
      }
      const message: Reply & { id?: unknown; method?: string } = JSON.parse(line)
      if (message.method === 'elicitation/create') {
        this.#send({ id: message.id, result: { action: 'accept', ...(content && { content }) } })
      }
      if (message.method === undefined && message.id === id) return message
    }
    return { error: { code: -32001, message: `no response to ${method} within ${timeoutMs / 1000} s` } }
  }

  #readLine(): string | undefined {
    const end = this.#process.stdout.indexOf('\n', this.#offset)
    if (end === -1) return undefined
    const line = this.#process.stdout.slice(this.#offset, end)
    this.#offset = end + 1
    return line.trim() === '' ? this.#readLine() : line
  }

  #send(message: Fields): void {
    this.#process.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }
}
