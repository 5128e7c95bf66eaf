// A server on stdio, written by hand, whose tool `book` asks for a seat: in a session when started with `session`, else
// as 2026-07-28 has it, where the answer may reach another process than the one that asked.
import { createInterface } from 'node:readline'

const session = process.argv.includes('session')
const info = { name: 'booking', version: '1' }
const tools = [{ name: 'book', inputSchema: { type: 'object' } }]
const params = {
  message: 'Which seat?',
  requestedSchema: {
    type: 'object',
    properties: { seat: { type: 'string' }, window: { type: 'boolean' } },
    required: ['seat'],
  },
}
const cached = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' }
let call: unknown

const send = (message: object): void => {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
}
const textResult = (value: unknown): object => ({ content: [{ type: 'text', text: JSON.stringify(value) }] })

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params: given, result } = JSON.parse(line)
  const give = (more: object): void => send({ id, result: more })
  if (id === 'q') send({ id: call, result: textResult(result) })
  else if (method === 'initialize' && session) {
    give({ protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: info })
  } else if (method === 'server/discover' && !session) {
    give({ ...cached, supportedVersions: ['2026-07-28'], capabilities: { tools: {} } })
  } else if (method === 'tools/list') give(session ? { tools } : { ...cached, tools })
  else if (method === 'tools/call' && session) {
    call = id
    send({ id: 'q', method: 'elicitation/create', params })
  } else if (method === 'tools/call' && given.requestState === undefined) {
    const inputRequests = { q: { method: 'elicitation/create', params } }
    give({ resultType: 'input_required', inputRequests, requestState: 'seat wanted' })
  } else if (method === 'tools/call') {
    give({ resultType: 'complete', ...textResult({ ...given.inputResponses.q, state: given.requestState }) })
  } else if (id !== undefined) send({ id, error: { code: -32601, message: 'Method not found' } })
})
