import { request } from 'node:http'
import { messagesIn } from './messages.ts'

/** What a raw request was answered with. */
interface Answer {
  readonly status: number
  readonly session: string | undefined
  /** The JSON-RPC messages in it, whether it was JSON or an event stream. */
  readonly messages: readonly Message[]
}

export interface Message {
  readonly id?: unknown
  readonly result?: Readonly<Record<string, unknown>>
  readonly error?: { readonly code: number; readonly message: string }
}

/** Sends a server one request over HTTP and returns whether it behaves as named. */
export type Probe = (url: string, oldest: string) => Promise<boolean>

const limitMs = 15_000

/** Behaviours on the wire, by the name rows give them. The server is the interop fixture of its maker. */
export const probes = {
  'speaks 2024-11-05': supports('2024-11-05'),
  'speaks 2025-03-26': supports('2025-03-26'),
  'speaks 2025-06-18': supports('2025-06-18'),
  'speaks 2025-11-25': supports('2025-11-25'),
  'refuses a foreign Host': async (url) =>
    refused(await send(url, initializeRequest('2025-06-18'), { host: 'evil.example' })),
  'refuses a foreign Origin': async (url) =>
    refused(await send(url, initializeRequest('2025-06-18'), { origin: 'https://evil.example' })),
  'answers a batch of 2025-03-26': async (url) => {
    const { messages } = await inSession(url, '2025-03-26', [ping(1), ping(2)])
    return [1, 2].every((id) => messages.some((message) => message.id === id && message.result !== undefined))
  },
  'refuses a batch of 2025-06-18': async (url) =>
    refused(await inSession(url, '2025-06-18', [ping(1), ping(2)])),
  'leaves out what the oldest revision it speaks does not know': async (url, oldest) => {
    const { messages } = await inSession(url, oldest, { jsonrpc: '2.0', id: 1, method: 'tools/list' })
    const text = JSON.stringify(messages)
    return (
      text.includes('"inputSchema"') && !text.includes('"outputSchema"') && !text.includes('"title":"Sum"')
    )
  },
  'answers 404 to a session it does not know': async (url) => {
    const { status } = await send(url, ping(1), {
      'mcp-session-id': 'f0d1a2c4-made-up',
      'mcp-protocol-version': '2025-06-18',
    })
    return status === 404
  },
  'refuses a body of 8 MiB': async (url) => {
    const padding = 'x'.repeat(8_388_608)
    return refused(await send(url, { ...initializeRequest('2025-06-18'), padding }).catch(() => cut))
  },
  'does not show what a handler threw': async (url) => {
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'throws', arguments: {} } }
    const { messages } = await inSession(url, '2025-06-18', call)
    return messages.length > 0 && !JSON.stringify(messages).includes('thrown')
  },
  'answers -32601 to an unknown method': async (url) => {
    const { messages } = await inSession(url, '2025-06-18', { jsonrpc: '2.0', id: 1, method: 'example/none' })
    return messages.some(({ error }) => error?.code === -32601)
  },
  'rejects an unpublished revision': async (url) =>
    refused(await inSession(url, '2025-06-18', ping(1), '1999-12-31')),
  'serves 2026-07-28': async (url) => {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'probe', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' }
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta } }
    const { messages } = await send(url, list, headers)
    return messages.some(({ result }) => result?.['resultType'] === 'complete')
  },
} satisfies Readonly<Record<string, Probe>>

export type ProbeName = keyof typeof probes

function supports(version: string): Probe {
  return async (url) => {
    const { messages } = await send(url, initializeRequest(version))
    return messages.some(({ result }) => result?.['protocolVersion'] === version)
  }
}

/** A connection that was cut instead of an answer. */
const cut: Answer = { status: 499, session: undefined, messages: [] }

function ping(id: number): object {
  return { jsonrpc: '2.0', id, method: 'ping' }
}

function initializeRequest(protocolVersion: string): object {
  const clientInfo = { name: 'probe', version: '1' }
  return {
    jsonrpc: '2.0',
    id: 0,
    method: 'initialize',
    params: { protocolVersion, capabilities: {}, clientInfo },
  }
}

function refused({ status, messages }: Answer): boolean {
  return status >= 400 || (messages.length > 0 && messages.every(({ error }) => error !== undefined))
}

/** Sends one message within a session of its own; `shown` is the revision named in its header. */
async function inSession(url: string, version: string, message: object, shown = version): Promise<Answer> {
  const { session } = await send(url, initializeRequest(version))
  const headers = { ...(session !== undefined && { 'mcp-session-id': session }) }
  const sessionHeaders = { ...headers, 'mcp-protocol-version': version }
  await send(url, { jsonrpc: '2.0', method: 'notifications/initialized' }, sessionHeaders)
  return send(url, message, { ...headers, 'mcp-protocol-version': shown })
}

/** Node's own client, because `fetch` does not allow setting the Host. */
function send(url: string, message: object, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const accept = 'application/json, text/event-stream'
    const sent = request(
      url,
      {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept, ...headers },
        timeout: limitMs,
      },
      (response) => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (chunk: string) => {
          text += chunk
        })
        response.on('error', reject)
        response.on('end', () => {
          const session = response.headers['mcp-session-id']
          resolve({
            status: response.statusCode ?? 0,
            session: typeof session === 'string' ? session : undefined,
            messages: messagesIn(text),
          })
        })
      },
    )
    sent.on('timeout', () => sent.destroy(new Error('no answer in time')))
    sent.on('error', reject)
    sent.end(JSON.stringify(message))
  })
}
