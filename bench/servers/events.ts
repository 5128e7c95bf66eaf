import { once } from 'node:events'
import { createInterface } from 'node:readline'

/** A stdio server in plain JSON-RPC whose tool sends as many log notifications as it is asked for. */
const write = async (message: object): Promise<void> => {
  if (!process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`))
    await once(process.stdout, 'drain')
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) continue
  if (method === 'initialize') {
    const serverInfo = { name: 'events', version: '1' }
    await write({
      id,
      result: { protocolVersion: '2025-06-18', capabilities: { tools: {}, logging: {} }, serverInfo },
    })
  } else if (method === 'tools/list') {
    const inputSchema = { type: 'object', properties: { count: { type: 'integer' } } }
    await write({ id, result: { tools: [{ name: 'emit', inputSchema }] } })
  } else if (method === 'tools/call') {
    for (let n = 0; n < params.arguments.count; n++)
      await write({ method: 'notifications/message', params: { level: 'info', data: `event ${n}` } })
    await write({ id, result: { content: [{ type: 'text', text: 'done' }] } })
  } else await write({ id, result: {} })
}
