import type { JsonRpcMessage, ProtocolVersion } from '@jackfield/sdk'
import type { HttpHandler } from '@jackfield/sdk/http'
import { parseJson } from '../../../packages/sdk/src/jsonrpc/parse.ts'
import { EventReader } from '../../../packages/sdk/src/jsonrpc/sse.ts'
import { isObject } from '../../setup/json.ts'
import { callParams } from './paused-server.ts'
import { settled } from './schedules.ts'

/** Every call has the same id, so that whatever is meant for one that is over would hit the next. */
const id = 1
const url = 'http://127.0.0.1/mcp'

/** One connection that a call is, or was, answered on. */
interface Connection {
  drop(): void
}

/** One call as its client sees it, over all connections it was answered on. */
export class HttpCall {
  readonly token: string
  /** What it was answered with, each time: the text of a result, or the code of an error. */
  readonly answers: string[] = []
  readonly progress: number[] = []
  /** What should not have come. */
  readonly stray: string[] = []
  /** The last event it has, to go on after. */
  lastId: string | undefined
  /** Open connections. */
  readonly open = new Set<Connection>()
  wasDropped = false

  constructor(token: string) {
    this.token = token
  }

  drop(): void {
    for (const connection of this.open) connection.drop()
    this.open.clear()
    this.wasDropped = true
  }

  receive(message: JsonRpcMessage): void {
    if (this.answers.length > 0) this.stray.push(`after its answer: ${JSON.stringify(message)}`)
    if (!('method' in message)) {
      this.answers.push('error' in message ? String(message.error.code) : textIn(message.result['content']))
      return
    }
    const { progressToken, progress } = message.params ?? {}
    if (progressToken === this.token) this.progress.push(Number(progress))
    else this.stray.push(`of another call: ${JSON.stringify(message)}`)
  }
}

/** A client of HTTP that is written out, on one handler. */
export class HttpCaller {
  readonly #handler: HttpHandler
  readonly #revision: ProtocolVersion
  readonly #stateless: boolean
  readonly failures: unknown[] = []
  #session: string | undefined

  constructor(handler: HttpHandler, revision: ProtocolVersion) {
    this.#handler = handler
    this.#revision = revision
    this.#stateless = revision === '2026-07-28'
  }

  async initialize(): Promise<void> {
    if (this.#stateless) return
    const params = {
      protocolVersion: this.#revision,
      capabilities: {},
      clientInfo: { name: 'hand', version: '1' },
    }
    const answer = await this.#post({ jsonrpc: '2.0', id: 'hello', method: 'initialize', params })
    this.#session = answer.headers.get('mcp-session-id') ?? undefined
    await this.#post({ jsonrpc: '2.0', method: 'notifications/initialized' })
  }

  call(token: string): HttpCall {
    const call = new HttpCall(token)
    const message = { jsonrpc: '2.0', id, method: 'tools/call', params: callParams(token, this.#stateless) }
    const more = this.#stateless ? { 'mcp-method': 'tools/call', 'mcp-name': 'work' } : undefined
    this.#follow(call, (signal) => this.#post(message, signal, more))
    return call
  }

  /** Cancels the call by a notification. */
  async cancel(): Promise<void> {
    const params = { requestId: id }
    await this.#post({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
  }

  /** Asks for what comes after the last event of a call. */
  resume(call: HttpCall): void {
    const { lastId } = call
    if (lastId === undefined) return
    this.#follow(call, (signal) => {
      const headers = { ...this.#headers(), accept: 'text/event-stream', 'last-event-id': lastId }
      return this.#handler.fetch(new Request(url, { headers, signal }))
    })
  }

  #follow(call: HttpCall, ask: (signal: AbortSignal) => Promise<Response>): void {
    const stop = new AbortController()
    let isDropped = false
    let reader: ReadableStreamDefaultReader<Uint8Array> | undefined
    const connection: Connection = {
      drop: () => {
        isDropped = true
        stop.abort()
        reader?.cancel().catch(() => {})
      },
    }
    call.open.add(connection)
    const receive = (text: string): void => {
      const message = parseJson(text)
      if (!isMessage(message)) call.stray.push(`no message: ${text}`)
      else if (!isDropped) call.receive(message)
    }
    const events = new EventReader({
      maxBytes: 1_000_000,
      onTooLong: () => call.stray.push('too long'),
      onNotUtf8: () => call.stray.push('not UTF-8'),
      onEvent: (event) => {
        if (isDropped) return
        if (event.id !== undefined) call.lastId = event.id
        if (event.data !== '') receive(event.data)
      },
    })
    const read = async (): Promise<void> => {
      const response = await ask(stop.signal)
      if (isDropped) return
      reader = response.body?.getReader()
      const isStream = response.headers.get('content-type') === 'text/event-stream'
      const whole: Uint8Array[] = []
      for (;;) {
        const { done, value } = (await reader?.read()) ?? { done: true, value: undefined }
        if (done || value === undefined) break
        if (isStream) events.push(value)
        else whole.push(value)
      }
      if (!isStream && whole.length > 0) receive(Buffer.concat(whole).toString())
    }
    read()
      .catch((error) => {
        if (!isDropped) this.failures.push(error)
      })
      .finally(() => call.open.delete(connection))
  }

  #post(message: object, signal?: AbortSignal, more: Record<string, string> = {}): Promise<Response> {
    const headers = {
      ...this.#headers(),
      ...more,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    }
    const body = JSON.stringify(message)
    return this.#handler.fetch(new Request(url, { method: 'POST', headers, body, signal: signal ?? null }))
  }

  #headers(): Record<string, string> {
    return {
      'mcp-protocol-version': this.#revision,
      ...(this.#session === undefined ? {} : { 'mcp-session-id': this.#session }),
    }
  }
}

/** Lets everything happen that waits for nothing but turns of its own, as streams do for several. */
export async function calm(): Promise<void> {
  for (let turn = 0; turn < 4; turn++) await settled()
}

function isMessage(value: unknown): value is JsonRpcMessage {
  return isObject(value) && value['jsonrpc'] === '2.0'
}

export function textIn(content: unknown): string {
  const block: unknown = Array.isArray(content) ? content[0] : undefined
  return isObject(block) ? String(block['text']) : 'nothing'
}
