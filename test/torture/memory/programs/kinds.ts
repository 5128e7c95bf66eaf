/** How a request is sent: in the stateless era, or in a session. */
export type Era = 'modern' | 'session'

/** One request of the mix, and how to know its answer. */
export interface Request {
  readonly method: string
  readonly params: Readonly<Record<string, unknown>>
  /** A part of the text of its response. */
  readonly answer: string
  /** A variation: the call is cancelled, or is larger than the server accepts. */
  readonly twist?: 'cancelled' | 'oversized'
}

/** Bytes of the largest message the servers of these programs take. */
export const messageBytes = 16_384

const info = { name: 'soak', version: '1.0.0' }
const resources = 8

function call(name: string, args: object, answer: string): Request {
  return { method: 'tools/call', params: { name, arguments: args }, answer }
}

function read(uri: string, answer: string): Request {
  return { method: 'resources/read', params: { uri }, answer }
}

/** What the eras do not have in common, each in its turn. */
function own(n: number, era: Era): Request {
  if (era === 'modern') return { method: 'server/discover', params: {}, answer: '"supportedVersions"' }
  const uri = `wares://items/${Math.floor(n / 80) % resources}`
  switch (Math.floor(n / 20) % 4) {
    case 0:
      return { method: 'ping', params: {}, answer: '"result":{}' }
    case 1:
      return { method: 'resources/subscribe', params: { uri }, answer: '"result":{}' }
    case 2:
      return { method: 'logging/setLevel', params: { level: 'info' }, answer: '"result":{}' }
    default:
      return { method: 'resources/unsubscribe', params: { uri }, answer: '"result":{}' }
  }
}

/** The request of a number. What can differ between two requests does, so that nothing is answered from memory. */
const kinds: readonly ((n: number, era: Era) => Request)[] = [
  (n) => call('add', { a: n, b: 1 }, `"sum":${n + 1}`),
  () => ({ method: 'tools/list', params: {}, answer: '"inputSchema"' }),
  (n) => call('echo', { text: `said ${n}` }, `said ${n}`),
  () => read('wares://note', 'a note'),
  (n) => call('add', { a: -n, b: 0.5 }, '"isError":true'),
  (n) => ({
    method: 'prompts/get',
    params: { name: 'greet', arguments: { name: `N${n}` } },
    answer: `Greet N${n}.`,
  }),
  (n) => call(`unknown-${n}`, {}, '"error"'),
  (n) => read(`wares://items/${n}`, `item ${n}`),
  (n) => ({ ...call('wait', { number: n }, ''), twist: 'cancelled' }),
  () => withMeta(call('count', {}, 'counted'), { progressToken: 'p' }),
  (n) => ({
    method: 'completion/complete',
    params: { ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'name', value: `v${n}` } },
    answer: `"v${n}a"`,
  }),
  (n) => call('add', { a: n, b: 2 }, `"sum":${n + 2}`),
  () => withMeta(call('say', {}, 'said'), { 'io.modelcontextprotocol/logLevel': 'info' }),
  (n) => read(`wares://items/no-${n}`, '"error"'),
  (n) => ({ ...call('echo', { text: 'x'.repeat(messageBytes + (n % 100)) }, '"error"'), twist: 'oversized' }),
  () => ({ method: 'resources/list', params: {}, answer: '"resources"' }),
  own,
  (n) => ({
    method: 'completion/complete',
    params: {
      ref: { type: 'ref/resource', uri: 'wares://items/{id}' },
      argument: { name: 'id', value: `i${n}` },
    },
    answer: `"i${n}2"`,
  }),
  (n) => ({
    method: 'prompts/get',
    params: { name: 'greet', arguments: { other: `${n}` } },
    answer: '"error"',
  }),
  () => ({ method: 'prompts/list', params: {}, answer: '"greet"' }),
]

/** How many requests it takes until each kind had its turn. */
export const period: number = kinds.length

/** The request of a number, of an era. */
export function requestOf(n: number, era: Era): Request {
  const kind = kinds[n % period]
  if (kind === undefined) throw new Error(`There is no kind ${n % period}`)
  const request = kind(n, era)
  if (era === 'session') return request
  return withMeta(request, {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { ...info, version: `1.0.${n}` },
    'io.modelcontextprotocol/clientCapabilities': {},
  })
}

/** The message of a request. */
export function messageOf(n: number, { method, params }: Request): string {
  return JSON.stringify({ jsonrpc: '2.0', id: n, method, params })
}

/** How a session begins. */
export const initialize: string = JSON.stringify({
  jsonrpc: '2.0',
  id: 'initialize',
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: info },
})
/** The next step. */
export const initialized: string = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })

/** Takes a request back. */
export function cancelledOf(n: number): string {
  return JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: n } })
}

function withMeta(request: Request, more: object): Request {
  const { _meta = {} } = request.params
  return { ...request, params: { ...request.params, _meta: { ...Object(_meta), ...more } } }
}
