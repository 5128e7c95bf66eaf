import { connect, type Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { AnswerReader } from './answer-reader.ts'

/** How a request to a server under load is sent. */
export type Wire = 'modern' | 'session' | 'stateless'

/** One measured period of load. */
export interface Load {
  port: number
  path: string
  wire: Wire
  method: 'tools/call' | 'tools/list'
  /** The tool that is called, with its arguments. */
  tool: string
  args: Record<string, unknown>
  /** How often a notification with this text is counted in the answers. */
  counted?: string
  connections: number
  /** Sessions that are open, each used in turn. Default: one for each connection. */
  sessions?: number
  ms: number
}

export interface Loaded {
  requests: number
  ms: number
  /** Milliseconds until half, and until 99 of 100, requests were answered. */
  p50: number
  p99: number
  /** Occurrences of the counted text. */
  counted: number
  /** The first response that was not a result; undefined if all were. */
  failure: string | undefined
}

/** The revision that each load negotiates; mcp-lite supports none newer than 2025-06-18. */
const versions: Record<Wire, string> = {
  modern: '2026-07-28',
  session: '2025-11-25',
  stateless: '2025-06-18',
}
const info = { name: 'bench', version: '1.0.0' }
const goodbyeMs = 500
let nextId = 10_000_000

let go = (): void => {}
/** The connections of the last load, closed when nothing is measured. */
let left: Line[] = []

// A load is opened first, and sent when the parent process sends `go`, so that opening is not measured.
process.on('message', (message: Load | 'go') => {
  if (message === 'go') go()
  else run(message).catch((error: Error) => process.send?.({ failure: error.message }))
})
process.on('disconnect', () => process.exit(0))
process.send?.({ ready: true })

async function run(load: Load): Promise<void> {
  await Promise.all(left.map((line) => line.close()))
  const lines = await Promise.all(Array.from({ length: load.connections }, () => Line.open(load)))
  left = lines
  await new Promise<void>((resolve) => {
    go = resolve
    process.send?.({ opened: true })
  })
  process.send?.(await send(load, lines))
}

async function send(load: Load, lines: readonly Line[]): Promise<Loaded> {
  const started = performance.now()
  const until = started + load.ms
  await Promise.all(lines.map((line) => line.loop(until)))
  const ms = performance.now() - started
  const times = Float64Array.from(lines.flatMap((line) => line.times)).sort()
  const at = (part: number): number => times[Math.min(times.length - 1, Math.floor(times.length * part))] ?? 0
  return {
    requests: times.length,
    ms,
    p50: at(0.5),
    p99: at(0.99),
    counted: lines.reduce((sum, line) => sum + line.counted, 0),
    failure: lines.find(({ failure }) => failure !== undefined)?.failure,
  }
}

/** One keep-alive connection that sends its next request when the last one is answered. */
class Line {
  failure: string | undefined
  readonly times: number[] = []
  readonly #socket: Socket
  readonly #load: Load
  readonly #reader: AnswerReader
  #sessions: string[] = []
  #answered: ((body: string) => void) | undefined
  #broke: ((error: Error) => void) | undefined

  static async open(load: Load): Promise<Line> {
    const socket = connect({ port: load.port, host: '127.0.0.1', noDelay: true })
    await new Promise((resolve, reject) => {
      socket.once('connect', resolve)
      socket.once('error', reject)
    })
    const line = new Line(socket, load)
    if (load.wire === 'session') {
      const count = Math.max(1, Math.round((load.sessions ?? load.connections) / load.connections))
      for (let n = 0; n < count; n++) await line.#initialize()
    }
    return line
  }

  constructor(socket: Socket, load: Load) {
    this.#socket = socket
    this.#load = load
    this.#reader = new AnswerReader(load.counted)
    socket.on('data', (chunk) => {
      for (const body of this.#reader.read(chunk)) this.#answered?.(body)
    })
    socket.on('close', () => this.#broke?.(new Error('the server closed the connection')))
    socket.on('error', (error) => this.#broke?.(error))
  }

  get counted(): number {
    return this.#reader.counted
  }

  /** Ends its sessions, and then itself. */
  async close(): Promise<void> {
    const { path, port } = this.#load
    for (const session of this.#sessions) {
      const headers = [`DELETE ${path} HTTP/1.1`, `Host: 127.0.0.1:${port}`, `Mcp-Session-Id: ${session}`]
      if (this.#socket.destroyed) return
      const ended = this.#exchange(`${headers.join('\r\n')}\r\n\r\n`).catch(() => {})
      await Promise.race([ended, setTimeout(goodbyeMs, undefined, { ref: false })])
    }
    this.#broke = undefined
    this.#socket.destroy()
  }

  async loop(until: number): Promise<void> {
    const templates = (this.#sessions.length === 0 ? [undefined] : this.#sessions).map((session) =>
      this.#template(session),
    )
    for (let n = 0, sent = performance.now(); sent < until; n++) {
      const template = templates[n % templates.length]
      if (template === undefined) return
      const answer = await this.#exchange(`${template.head}${nextId++}${template.tail}`)
      const now = performance.now()
      this.times.push(now - sent)
      sent = now
      if (!answer.includes('"result"') || answer.includes('"isError":true')) {
        this.failure ??= answer.slice(0, 300)
      }
    }
  }

  async #initialize(): Promise<void> {
    const params = { protocolVersion: versions[this.#load.wire], capabilities: {}, clientInfo: info }
    await this.#exchange(this.#post({ jsonrpc: '2.0', id: nextId++, method: 'initialize', params }))
    const { session } = this.#reader
    await this.#exchange(this.#post({ jsonrpc: '2.0', method: 'notifications/initialized' }, session))
    if (session !== undefined) this.#sessions.push(session)
  }

  /** The bytes of a request before and after its id, which always has the same length. */
  #template(session: string | undefined): { head: string; tail: string } {
    const { method, wire, tool, args, counted } = this.#load
    const params: Record<string, unknown> = method === 'tools/call' ? { name: tool, arguments: args } : {}
    const meta: Record<string, unknown> = counted === undefined ? {} : { progressToken: 'p' }
    if (wire === 'modern') {
      meta['io.modelcontextprotocol/protocolVersion'] = versions.modern
      meta['io.modelcontextprotocol/clientInfo'] = info
      meta['io.modelcontextprotocol/clientCapabilities'] = {}
    }
    if (Object.keys(meta).length > 0) params['_meta'] = meta
    const whole = this.#post({ jsonrpc: '2.0', id: 10_000_000, method, params }, session)
    const at = whole.indexOf('10000000', whole.indexOf('\r\n\r\n'))
    return { head: whole.slice(0, at), tail: whole.slice(at + 8) }
  }

  #post(message: { jsonrpc: '2.0'; id?: number; method: string; params?: object }, session?: string): string {
    const body = JSON.stringify(message)
    const { path, port, wire, tool } = this.#load
    const headers = [
      `POST ${path} HTTP/1.1`,
      `Host: 127.0.0.1:${port}`,
      'Content-Type: application/json',
      'Accept: application/json, text/event-stream',
      `Content-Length: ${Buffer.byteLength(body)}`,
    ]
    if (message.method !== 'initialize') headers.push(`MCP-Protocol-Version: ${versions[wire]}`)
    if (session !== undefined) headers.push(`Mcp-Session-Id: ${session}`)
    if (wire === 'modern') headers.push(`Mcp-Method: ${message.method}`)
    if (wire === 'modern' && message.method === 'tools/call') headers.push(`Mcp-Name: ${tool}`)
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
