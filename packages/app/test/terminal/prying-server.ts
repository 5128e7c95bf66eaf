// A server of 2026-07-28 on stdio whose tool `ask` elicits the text of its second argument, and returns what
// the client answered.
import { createInterface } from 'node:readline'

const params: unknown = JSON.parse(process.argv[2] ?? '{}')
const cached = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' }

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params: given } = JSON.parse(line)
  const give = (result: object): void => {
    process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`)
  }
  if (method === 'server/discover') {
    give({ ...cached, supportedVersions: ['2026-07-28'], capabilities: { tools: {} } })
  } else if (method === 'tools/list') {
    give({ ...cached, tools: [{ name: 'ask', inputSchema: { type: 'object' } }] })
  } else if (method === 'tools/call' && given.inputResponses === undefined) {
    give({ resultType: 'input_required', inputRequests: { q: { method: 'elicitation/create', params } } })
  } else if (method === 'tools/call') {
    const text = `answered ${JSON.stringify(given.inputResponses.q)}`
    give({ resultType: 'complete', content: [{ type: 'text', text }] })
  }
})
