import type { Running } from './types.ts'

type Fields = Record<string, unknown>

const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'by-hand', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
}

/** What came back for one request. */
export interface Reply {
  result?: Fields
  error?: { code: number; message: string }
}

/** A client by hand on the standard streams of what was started, in a session or of 2026-07-28. */
export class LinePeer {
  readonly #far: Running
  #next = 1
  #from = 0

  constructor(far: Running) {
    this.#far = far
  }

  /** A request of 2026-07-28, which says everything about its client itself. */
  modern(method: string, params: Fields = {}): Promise<Reply> {
    return this.request(method, { ...params, _meta: meta })
  }

  /** Begins a session that can be asked forms, which `answer` answers. */
  async session(): Promise<Reply> {
    const reply = await this.request('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: { elicitation: {} },
      clientInfo: { name: 'by-hand', version: '1.0.0' },
    })
    this.#send({ method: 'notifications/initialized' })
    return reply
  }

  /** Sends a request and waits for its answer; questions that come before are answered with `content`. */
  async request(method: string, params: Fields, content?: Fields): Promise<Reply> {
    const id = this.#next++
    this.#send({ id, method, params })
    const deadline = performance.now() + 10_000
    while (performance.now() < deadline) {
      const line = this.#line()
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
    throw new Error(`no answer to ${method} within 10 s; it wrote: ${this.#far.stderr.slice(-400)}`)
  }

  #line(): string | undefined {
    const end = this.#far.stdout.indexOf('\n', this.#from)
    if (end === -1) return undefined
    const line = this.#far.stdout.slice(this.#from, end)
    this.#from = end + 1
    return line.trim() === '' ? this.#line() : line
  }

  #send(message: Fields): void {
    this.#far.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }
}
