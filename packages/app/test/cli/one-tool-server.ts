/**
 * A server on stdio with these tools. A call answers with the arguments it was given as JSON, or with `result` where
 * that is given.
 */
export function offer(tools: readonly object[], result?: object): { command: string; args: string[] } {
  const script = `require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line)
    if (id === undefined) return
    const results = {
      initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'one', version: '1' } },
      'tools/list': { tools: ${JSON.stringify(tools)} },
      'tools/call': ${JSON.stringify(result) ?? "{ content: [{ type: 'text', text: JSON.stringify(params?.arguments ?? null) }] }"},
    }
    const answer = method in results ? { result: results[method] } : { error: { code: -32601, message: 'unknown' } }
    console.log(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
  })`
  return { command: process.execPath, args: ['-e', script] }
}
