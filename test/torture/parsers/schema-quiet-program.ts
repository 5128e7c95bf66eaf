import type { ProtocolVersion } from '@jackfield/sdk'
import { connect } from '../../../packages/sdk/src/client/index.ts'
import { defineServer } from '../../../packages/sdk/src/index.ts'
import { protocolVersions } from '../../../packages/sdk/src/protocol/methods.ts'
import { DuplexConnection } from '../../../packages/sdk/src/transports/server/duplex-connection.ts'
import { checkWire, type Sender } from '../../../packages/sdk/test/schema/wire.ts'
import { changesOf, Differences, print } from './schema-differences.ts'
import { schemaPeer } from './schema-peer.ts'
import { results } from './schema-results.ts'

// Mutates every place of every notification without a visible effect, in every revision, and prints where the official schema
// of the revision and ours do not agree: such a notification is accepted without a warning. What comes next is always
// served.

const clientInfo = { name: 'n', version: '1' }
// Errors are expected here, and formatting them takes longer than the messages.
const server = defineServer({ name: 'quiet', version: '1.0.0', tools: {}, onError: () => {} })
const meta = { a: 1 }
const at = '2026-01-02T03:04:05Z'
const quiet: Readonly<Record<string, object>> = {
  'notifications/roots/list_changed': { _meta: meta },
  'notifications/tasks/status': {
    ...{ taskId: 't', status: 'working', statusMessage: 'm', ttl: 1, pollInterval: 1, _meta: meta },
    ...{ createdAt: at, lastUpdatedAt: at },
  },
}
const differences = new Differences('quiet notice')

for (const revision of protocolVersions) {
  const progress = {
    ...{ progressToken: 'unknown', progress: 0.5, total: 1 },
    ...(revision >= '2025-03-26' && { message: 'm' }),
  }
  for (const [method, params] of Object.entries({ ...quiet, 'notifications/progress': progress })) {
    await each(revision, 'client', { method, params }, (changed) => saidByServer(revision, changed))
  }
  const right = results(revision)
  const peer = schemaPeer((method) => ({ result: right[method] }))
  let warnings = 0
  const client = await connect(peer.link, { revisions: [revision], onWarning: () => warnings++ })
  for (const [method, params] of Object.entries(quiet)) {
    await each(revision, 'server', { method, params }, async (changed) => {
      warnings = 0
      peer.send(changed)
      await client.call('other')
      return warnings > 0
    })
  }
  await client.close()
}
await print(differences)
process.exit(0)

/** Sends every mutation of a notification, and records whether it caused a warning. */
async function each(
  revision: ProtocolVersion,
  sender: Sender,
  notice: { method: string; params: object },
  send: (changed: object) => Promise<boolean>,
): Promise<void> {
  if (checkWire(revision, sender, { jsonrpc: '2.0', ...notice }).length > 0) return
  for (const change of changesOf(notice)) {
    const changed = { jsonrpc: '2.0', ...change.changed }
    const wrong = checkWire(revision, sender, changed).length > 0
    differences.note(revision, notice.method, change, { wrong, refused: await send(changed) })
  }
}

/** Whether a server answers a notification; it must answer the next request. */
async function saidByServer(revision: ProtocolVersion, notice: object): Promise<boolean> {
  const messages: object[] = []
  const connection = new DuplexConnection(server, (message) => messages.push(message))
  const params = { protocolVersion: revision, capabilities: { roots: { listChanged: true } }, clientInfo }
  connection.receive({ jsonrpc: '2.0', id: 'first', method: 'initialize', params })
  await settled()
  connection.receive({ jsonrpc: '2.0', method: 'notifications/initialized' })
  await settled()
  const before = messages.length
  connection.receive(JSON.parse(JSON.stringify(notice)))
  await settled()
  const after = messages.length
  connection.receive({ jsonrpc: '2.0', id: 'next', method: 'ping' })
  await settled()
  if (!messages.some((message) => 'id' in message && message.id === 'next' && 'result' in message)) {
    throw new Error(`No answer after ${JSON.stringify(notice)}`)
  }
  await connection.close()
  return after > before
}

function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
}
