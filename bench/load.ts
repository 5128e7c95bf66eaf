import { connect, type Socket } from 'node:net'

/** How a request to a server under load is put. */
export type Wire = 'modern' | 'session' | 'stateless'

/** One measured stretch of load. */
export interface Load {
  port: number
  path: string
  wire: Wire
  method: 'tools/call' | 'tools/list'
  connections: number
  ms: number
}

export interface Loaded {
  requests: number
  ms: number
  /** The first answer that was not a result; nothing when all were. */
  failure: string | undefined
}

/** What each way of speaking says it speaks; mcp-lite knows nothing newer than 2025-06-18. */
const versions: Record<Wire, string> = {
  modern: '2026-07-28',
  session: '2025-11-25',
  stateless: '2025-06-18',
}
const info = { name: 'bench', version: '1.0.0' }
const text = 'Hello from the load generator'
let nextId = 10_000_000

process.on('message', (load: Load) => {
  run(load).then(
    (loaded) => process.send?.(loaded),
    (error: Error) => process.send?.({ requests: 0, ms: 1, failure: error.message } satisfies Loaded),
  )
})
process.on('disconnect', () => process.exit(0))
process.send?.({ ready: true })

async function run(load: Load): Promise<Loaded> {
  const lines = await Promise.all(Array.from({ length: load.connections }, () => Line.open(load)))
  const started = performance.now()
  const until = started + load.ms
  const counts = await Promise.all(lines.map((line) => line.loop(until)))
  const ms = performance.now() - started
  for (const line of lines) line.close()
  return {
    requests: counts.reduce((sum, count) => sum + count, 0),
    ms,
    failure: lines.find(({ failure }) => failure !== undefined)?.failure,
  }
}

/** One keep-alive connection that sends its next request when the last one is answered. */
class Line {
  failure: string | undefined
  readonly #socket: Socket
  readonly #load: Load
  readonly #reader = new AnswerReader()
  #session: string | undefined
  #answered: ((body: string) => void) | undefined
  #broke: ((error: Error) => void) | undefined

  static async open(load: Load): Promise<Line> {
    const socket = connect({ port: load.port, host: '127.0.0.1', noDelay: true })
    await new Promise((resolve, reject) => {
      socket.once('connect', resolve)
      socket.once('error', reject)
    })
    const line = new Line(socket, load)
    if (load.wire === 'session') await line.#initialize()
    return line
  }

  constructor(socket: Socket, load: Load) {
    this.#socket = socket
    this.#load = load
    socket.on('data', (chunk) => {
      for (const body of this.#reader.read(chunk)) this.#answered?.(body)
    })
    socket.on('close', () => this.#broke?.(new Error('the server closed the connection')))
    socket.on('error', (error) => this.#broke?.(error))
  }

  close(): void {
    this.#socket.destroy()
  }

  async loop(until: number): Promise<number> {
    let requests = 0
    const { head, body } = this.#template()
    while (performance.now() < until) {
      const answer = await this.#exchange(`${head}${body.replace('"ID"', String(nextId++))}`)
      if (!answer.includes('"result"') || answer.includes('"isError":true'))
        this.failure ??= answer.slice(0, 300)
      requests++
    }
    return requests
  }

  async #initialize(): Promise<void> {
    const params = { protocolVersion: versions[this.#load.wire], capabilities: {}, clientInfo: info }
    await this.#exchange(this.#post({ jsonrpc: '2.0', id: nextId++, method: 'initialize', params }))
    this.#session = this.#reader.session
    await this.#exchange(this.#post({ jsonrpc: '2.0', method: 'notifications/initialized' }))
  }

  /** The bytes of a request with a place left for its id, which always has the same length. */
  #template(): { head: string; body: string } {
    const { method, wire } = this.#load
    const params: Record<string, unknown> =
      method === 'tools/call' ? { name: 'echo', arguments: { text } } : {}
    if (wire === 'modern') {
      params['_meta'] = {
        'io.modelcontextprotocol/protocolVersion': versions.modern,
        'io.modelcontextprotocol/clientInfo': info,
        'io.modelcontextprotocol/clientCapabilities': {},
      }
    }
    const whole = this.#post({ jsonrpc: '2.0', id: 10_000_000, method, params })
    const at = whole.indexOf('\r\n\r\n') + 4
    return { head: whole.slice(0, at), body: whole.slice(at).replace('10000000', '"ID"') }
  }

  #post(message: { jsonrpc: '2.0'; id?: number; method: string; params?: object }): string {
    const body = JSON.stringify(message)
    const { path, port, wire } = this.#load
    const headers = [
      `POST ${path} HTTP/1.1`,
      `Host: 127.0.0.1:${port}`,
      'Content-Type: application/json',
      'Accept: application/json, text/event-stream',
      `Content-Length: ${Buffer.byteLength(body)}`,
      `MCP-Protocol-Version: ${versions[wire]}`,
    ]
    if (this.#session !== undefined) headers.push(`Mcp-Session-Id: ${this.#session}`)
    if (wire === 'modern') headers.push(`Mcp-Method: ${message.method}`)
    if (wire === 'modern' && message.method === 'tools/call') headers.push('Mcp-Name: echo')
    return `${headers.join('\r\n')}\r\n\r\n${body}`
  }

  #exchange(bytes: string): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#answered = resolve
      this.#broke = reject
      this.#socket.write(bytes)
    })
  }
}

/** Cuts a connection's bytes into the bodies of its HTTP answers. */
class AnswerReader {
  session: string | undefined
  #left = ''

  /** The bodies that are complete with these bytes. */
  read(chunk: Buffer): string[] {
    this.#left += chunk.toString('latin1')
    const bodies: string[] = []
    for (let body = this.#next(); body !== undefined; body = this.#next()) bodies.push(body)
    return bodies
  }

  #next(): string | undefined {
    const end = this.#left.indexOf('\r\n\r\n')
    if (end < 0) return undefined
    const head = this.#left.slice(0, end).toLowerCase()
    const session = /^mcp-session-id: *(.+)$/m.exec(head)
    if (session !== null) this.session = this.#left.slice(session.index, end).match(/: *([^\r\n]+)/)?.[1]
    if (/^transfer-encoding: *chunked/m.test(head)) return this.#chunked(end + 4)
    const length = Number(/^content-length: *(\d+)/m.exec(head)?.[1] ?? 0)
    if (this.#left.length < end + 4 + length) return undefined
    const body = this.#left.slice(end + 4, end + 4 + length)
    this.#left = this.#left.slice(end + 4 + length)
    return body
  }

  #chunked(start: number): string | undefined {
    let body = ''
    for (let at = start; ; ) {
      const line = this.#left.indexOf('\r\n', at)
      if (line < 0) return undefined
      const size = Number.parseInt(this.#left.slice(at, line), 16)
      const next = line + 2 + size + 2
      if (this.#left.length < next) return undefined
      if (size === 0) {
        this.#left = this.#left.slice(next)
        return body
      }
      body += this.#left.slice(line + 2, line + 2 + size)
      at = next
    }
  }
}
