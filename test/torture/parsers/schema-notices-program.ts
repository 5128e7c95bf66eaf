import type { ProtocolVersion } from '@jackfield/sdk'
import type { Client } from '@jackfield/sdk/client'
import { connect } from '../../../packages/sdk/src/client/index.ts'
import { defineServer, tool } from '../../../packages/sdk/src/index.ts'
import { protocolVersions } from '../../../packages/sdk/src/protocol/methods.ts'
import { DuplexConnection } from '../../../packages/sdk/src/transports/server/duplex-connection.ts'
import { checkWire, type Sender } from '../../../packages/sdk/test/schema/wire.ts'
import { changesOf, Differences, print } from './schema-differences.ts'
import { type SchemaPeer, schemaPeer } from './schema-peer.ts'
import { results } from './schema-results.ts'

// Mutates every place of every notification that has an effect, in every revision, and prints where the effect and the official schema
// of the revision disagree: a notification is accepted if it has its effect.

const stateless = '2026-07-28'
const differences = new Differences('notice')
let effects = 0
const had = (): void => {
  effects++
}

for (const revision of protocolVersions) {
  const right = results(revision)
  const peer = schemaPeer((method) => ({ result: right[method] }))
  const client = await connect(peer.link, {
    revisions: [revision],
    elicitation: { form: true, url: true },
    onElicit: ({ mode }, { signal }) =>
      new Promise((resolve, reject) => {
        if (mode === 'url') resolve({ action: 'accept' })
        signal.addEventListener('abort', () => {
          had()
          reject(signal.reason)
        })
      }),
    onLog: had,
    onChange: had,
    onElicitationComplete: had,
  })
  const meta = { a: 1 }
  const standing: Readonly<Record<string, object>> = {
    'notifications/message': { level: 'info', logger: 'l', data: 'd', _meta: meta },
    'notifications/tools/list_changed': { _meta: meta },
    'notifications/prompts/list_changed': { _meta: meta },
    'notifications/resources/list_changed': { _meta: meta },
    'notifications/resources/updated': { uri: 'file:///readme', _meta: meta },
  }
  for (const [method, params] of Object.entries(standing)) {
    await each(revision, 'server', { method, params }, async (notice) => peer.send(notice))
  }
  await eachProgress(revision, client, peer, right)
  if (revision === stateless) await eachAcknowledgement(revision, client, peer, right)
  else {
    const cancelled = { method: 'notifications/cancelled', params: { requestId: 'asked', reason: 'r' } }
    if (revision >= '2025-06-18') {
      await each(revision, 'server', cancelled, async (notice) => {
        const params = { message: 'm', requestedSchema: { type: 'object', properties: {} } }
        peer.send({ jsonrpc: '2.0', id: 'asked', method: 'elicitation/create', params })
        await settled()
        peer.send(notice)
        await settled()
        const received = effects
        // If it was not cancelled, it is now.
        peer.send({ jsonrpc: '2.0', ...cancelled })
        await settled()
        effects = received
      })
    }
  }
  await eachUrlElicitation(revision, peer)
  await client.close()
  await eachCancelled(revision)
  await eachInitialized(revision)
}
await print(differences)
process.exit(0)

/** Sends every mutation of a notification, and records whether it had an effect. */
async function each(
  revision: ProtocolVersion,
  sender: Sender,
  notice: { method: string; params: object },
  send: (changed: object) => Promise<void>,
): Promise<void> {
  if (checkWire(revision, sender, { jsonrpc: '2.0', ...notice }).length > 0) return
  for (const change of changesOf(notice)) {
    const changed = { jsonrpc: '2.0', ...change.changed }
    const wrong = checkWire(revision, sender, changed).length > 0
    effects = 0
    await send(changed)
    await settled()
    differences.note(revision, notice.method, change, { wrong, refused: effects === 0 })
  }
}

/** Progress reaches the call it is about. */
async function eachProgress(
  revision: ProtocolVersion,
  client: Client,
  peer: SchemaPeer,
  right: Readonly<Record<string, object>>,
): Promise<void> {
  const params = {
    progressToken: 'its own',
    progress: 0.5,
    total: 1,
    ...(revision >= '2025-03-26' && { message: 'm' }),
  }
  await each(revision, 'server', { method: 'notifications/progress', params }, async (notice) => {
    let asked: Record<string, unknown> = {}
    peer.answer = (_method, message) => {
      asked = { ...message }
      return undefined
    }
    const call = client.call('other', {}, { onProgress: had })
    await settled()
    const { _meta } = Object(asked['params'])
    peer.send(JSON.parse(JSON.stringify(notice).replace('"its own"', JSON.stringify(_meta.progressToken))))
    await settled()
    peer.send({ jsonrpc: '2.0', id: asked['id'], result: right['tools/call'] })
    await call
  })
  peer.answer = (method) => ({ result: right[method] })
}

/** A watch begins when the server acknowledges it. */
async function eachAcknowledgement(
  revision: ProtocolVersion,
  client: Client,
  peer: SchemaPeer,
  right: Readonly<Record<string, object>>,
): Promise<void> {
  const notifications = { toolsListChanged: true, resourceSubscriptions: ['file:///readme'] }
  const params = { notifications, _meta: { 'io.modelcontextprotocol/subscriptionId': 'its own' } }
  await each(
    revision,
    'server',
    { method: 'notifications/subscriptions/acknowledged', params },
    async (notice) => {
      let id: unknown
      peer.answer = (_method, message) => {
        id = Reflect.get(message, 'id')
        return undefined
      }
      const watch = client.watch({ toolsListChanged: true }).then(had, () => {})
      await settled()
      peer.send(JSON.parse(JSON.stringify(notice).replace('"its own"', JSON.stringify(id))))
      await settled()
      const received = effects
      peer.send({ jsonrpc: '2.0', id, result: { resultType: 'complete' } })
      await watch
      effects = received
    },
  )
  peer.answer = (method) => ({ result: right[method] })
}

/** The completion of a URL elicitation. */
async function eachUrlElicitation(revision: ProtocolVersion, peer: SchemaPeer): Promise<void> {
  const over = { method: 'notifications/elicitation/complete', params: { elicitationId: 'visit' } }
  await each(revision, 'server', over, async (notice) => {
    const params = { mode: 'url', message: 'm', url: 'https://a.example/', elicitationId: 'visit' }
    peer.send({ jsonrpc: '2.0', id: 'asked', method: 'elicitation/create', params })
    await settled()
    peer.send(notice)
    await settled()
    const received = effects
    // Where it was not over, it is now.
    peer.send({ jsonrpc: '2.0', ...over })
    await settled()
    effects = received
  })
}

/** A client with a session is notified of changes. */
async function eachInitialized(revision: ProtocolVersion): Promise<void> {
  const notice = { method: 'notifications/initialized', params: { _meta: { a: 1 } } }
  await each(revision, 'client', notice, async (changed) => {
    const server = defineServer({ name: 'changing', version: '1.0.0', tools: {} })
    const connection = new DuplexConnection(server, (message) => {
      if ('method' in message && message.method === 'notifications/tools/list_changed') had()
    })
    const clientInfo = { name: 'n', version: '1' }
    const params = { protocolVersion: revision, capabilities: {}, clientInfo }
    connection.receive({ jsonrpc: '2.0', id: 0, method: 'initialize', params })
    await settled()
    connection.receive(JSON.parse(JSON.stringify(changed)))
    await settled()
    server.add({ tools: { added: tool({ run: () => 'new' }) } })
    await settled()
    const received = effects
    await connection.close()
    effects = received
  })
}

/** A client takes its call back. */
async function eachCancelled(revision: ProtocolVersion): Promise<void> {
  const server = defineServer({
    name: 'waiting',
    version: '1.0.0',
    tools: {
      wait: tool({
        run: (_, ctx) =>
          new Promise<string>((resolve) => {
            ctx.signal.addEventListener('abort', () => {
              had()
              resolve('over')
            })
          }),
      }),
    },
  })
  const clientInfo = { name: 'n', version: '1' }
  const meta = {
    'io.modelcontextprotocol/protocolVersion': stateless,
    'io.modelcontextprotocol/clientInfo': clientInfo,
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const call = { name: 'wait', arguments: {}, ...(revision === stateless && { _meta: meta }) }
  const notice = { method: 'notifications/cancelled', params: { requestId: 'asked', reason: 'r' } }
  await each(revision, 'client', notice, async (changed) => {
    const connection = new DuplexConnection(server, () => {})
    if (revision !== stateless) {
      const params = { protocolVersion: revision, capabilities: {}, clientInfo }
      connection.receive({ jsonrpc: '2.0', id: 0, method: 'initialize', params })
      await settled()
      connection.receive({ jsonrpc: '2.0', method: 'notifications/initialized' })
    }
    connection.receive({ jsonrpc: '2.0', id: 'asked', method: 'tools/call', params: call })
    await settled()
    connection.receive(JSON.parse(JSON.stringify(changed)))
    await settled()
    const received = effects
    await connection.close()
    effects = received
  })
}

function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
}
