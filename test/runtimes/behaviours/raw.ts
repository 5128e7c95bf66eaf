import type { JsonObject } from '@jackfield/sdk'
import type { Setting } from './behaviour.ts'

// Requests as a client of another make would send them, one by one.

type HeaderList = Record<string, string>

const info = { name: 'raw', version: '1' }
const accepted: HeaderList = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
}

/** How one era's requests are sent. */
export interface Raw {
  /** What every request of this client is sent with. */
  readonly headers: HeaderList
  request(method: string, params?: JsonObject, init?: RequestInit): Promise<Response>
  call(name: string, args?: JsonObject, init?: RequestInit): Promise<Response>
}

/** POSTs JSON text. */
export function post(url: string, body: RequestInit['body'], headers: HeaderList = {}): Promise<Response> {
  return fetch(url, { method: 'POST', headers: { ...accepted, ...headers }, body: body ?? null })
}

/** A client of the setting's revision; a session is begun where it has such. */
export function connectRaw(setting: Setting, headers: HeaderList = {}): Promise<Raw> {
  const { version, url } = setting
  return version === '2026-07-28' ? Promise.resolve(stateless(url, headers)) : session(url, version, headers)
}

/** A client of 2026-07-28. */
export function stateless(url: string, more: HeaderList = {}): Raw {
  const headers = { ...accepted, 'mcp-protocol-version': '2026-07-28', ...more }
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': info,
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const raw: Raw = {
    headers,
    request: (method, params = {}, init = {}) => {
      const { name, _meta } = { name: '', _meta: {}, ...params }
      const named: HeaderList = name === '' ? {} : { 'mcp-name': String(name) }
      const body = {
        jsonrpc: '2.0',
        id: 1,
        method,
        params: { ...params, _meta: Object.assign({}, meta, _meta) },
      }
      return fetch(url, {
        ...init,
        method: 'POST',
        headers: { ...headers, 'mcp-method': method, ...named },
        body: JSON.stringify(body),
      })
    },
    call: (name, args = {}, init) => raw.request('tools/call', callParams(name, args), init),
  }
  return raw
}

/** A client with a session. */
export async function session(url: string, version: string, more: HeaderList = {}): Promise<Raw> {
  let id = 0
  const send = (headers: HeaderList, message: JsonObject, init: RequestInit = {}): Promise<Response> =>
    fetch(url, {
      ...init,
      method: 'POST',
      headers: { ...accepted, ...more, ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    })
  const initializeParams = { protocolVersion: version, capabilities: {}, clientInfo: info }
  const first = await send({}, { id: id++, method: 'initialize', params: initializeParams })
  await first.text()
  const headers = {
    'mcp-session-id': first.headers.get('mcp-session-id') ?? '',
    'mcp-protocol-version': version,
  }
  await (await send(headers, { method: 'notifications/initialized' })).text()
  const raw: Raw = {
    headers: { ...more, ...headers },
    request: (method, params = {}, init) => send(headers, { id: id++, method, params }, init),
    call: (name, args = {}, init) => raw.request('tools/call', callParams(name, args), init),
  }
  return raw
}

function callParams(name: string, args: JsonObject): JsonObject {
  return { name, arguments: args, _meta: { progressToken: 'p' } }
}

/** An event stream's text as it comes in. */
export class Received {
  text = ''
  over = false

  constructor(response: Response) {
    this.#read(response).then(
      () => {
        this.over = true
      },
      () => {
        this.over = true
      },
    )
  }

  async #read(response: Response): Promise<void> {
    const decoder = new TextDecoder()
    for await (const chunk of response.body ?? []) this.text += decoder.decode(chunk, { stream: true })
  }

  /** The last event id so far. */
  get lastId(): string | undefined {
    return [...this.text.matchAll(/^id: ?(.*)$/gm)].at(-1)?.[1]
  }

  /** How many comments came so far. */
  get comments(): number {
    return this.text.match(/^:/gm)?.length ?? 0
  }
}
