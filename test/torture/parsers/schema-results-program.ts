import type { ProtocolVersion } from '@jackfield/sdk'
import type { Client } from '@jackfield/sdk/client'
import { connect } from '../../../packages/sdk/src/client/index.ts'
import { McpError, RpcError } from '../../../packages/sdk/src/jsonrpc/error.ts'
import { protocolVersions } from '../../../packages/sdk/src/protocol/methods.ts'
import { checkWire } from '../../../packages/sdk/test/schema/wire.ts'
import { changesOf, Differences, print } from './schema-differences.ts'
import { type SchemaPeer, schemaPeer } from './schema-peer.ts'
import { results } from './schema-results.ts'

// Changes every place of every result that a server may answer with, in every revision, and prints where our client and the
// official schema of the revision do not agree on whether it can be used.

/** What answers the first request of a connection. */
const greetings: ReadonlySet<string> = new Set(['initialize', 'server/discover'])
const params: Readonly<Record<string, object>> = {
  'tools/call': { name: 'other', arguments: {} },
  'resources/read': { uri: 'file:///readme' },
  'resources/subscribe': { uri: 'file:///readme' },
  'resources/unsubscribe': { uri: 'file:///readme' },
  'prompts/get': { name: 'greet' },
  'completion/complete': {
    ref: { type: 'ref/prompt', name: 'greet' },
    argument: { name: 'who', value: '' },
  },
  'logging/setLevel': { level: 'info' },
}
/** Errors whose data has a form of its own, and one of no particular kind. */
const errors: readonly object[] = [
  { code: -32602, message: 'm', data: { a: 1 } },
  { code: -32601, message: 'm' },
  { code: -32020, message: 'm' },
  { code: -32021, message: 'm', data: { requiredCapabilities: { sampling: {} } } },
  { code: -32022, message: 'm', data: { supported: ['2025-11-25'], requested: '2024-01-01' } },
]
const answered = new Differences('result')
const failed = new Differences('error')
for (const revision of protocolVersions) {
  const right = results(revision)
  const meetAny = (): Promise<ConnectedPeer> =>
    connectTo(
      revision,
      schemaPeer((asked) => ({ result: right[asked] })),
    )
  for (const [method, result] of Object.entries(right)) {
    if (faults(revision, method, { result }).length > 0) continue
    const connected = greetings.has(method) ? undefined : await meetAny()
    for (const change of changesOf(result)) {
      const answer = { result: change.changed }
      const wrong = faults(revision, method, answer).length > 0
      const refused =
        connected === undefined
          ? await isGreetingRefused(revision, method, answer, right)
          : method === 'subscriptions/listen'
            ? await isNoEnd(connected, change.changed)
            : await isRefused(connected, method, answer)
      answered.note(revision, method, change, { wrong, refused })
    }
    await connected?.client.close()
  }
  for (const error of errors) {
    if (faults(revision, 'tools/call', { error }).length > 0) continue
    for (const change of changesOf({ error })) {
      const wrong = faults(revision, 'tools/call', change.changed).length > 0
      const connected = await meetAny()
      const refused = await isRefused(connected, 'tools/call', change.changed)
      await connected.client.close()
      failed.note(revision, String(Reflect.get(error, 'code')), change, { wrong, refused })
    }
  }
}
await print(answered, failed)

interface ConnectedPeer {
  peer: SchemaPeer
  client: Client
  /** Called for a warning of the client. */
  onWarning: () => void
}

async function connectTo(
  revision: ProtocolVersion,
  peer: SchemaPeer,
  onWarning = (): void => {},
): Promise<ConnectedPeer> {
  const received = { onWarning }
  const client = await connect(peer.link, { revisions: [revision], onWarning: () => received.onWarning() })
  return Object.assign(received, { peer, client })
}

async function isGreetingRefused(
  revision: ProtocolVersion,
  method: string,
  answer: object,
  right: Readonly<Record<string, object>>,
): Promise<boolean> {
  let refused = false
  const peer = schemaPeer((asked) => (asked === method ? answer : { result: right[asked] }))
  const connected = await connectTo(revision, peer, () => {
    refused = true
  }).catch(unlessMeant)
  await connected?.client.close()
  return refused || connected === undefined
}

/** Whether the client rejects a response as invalid; a valid response may be an error too. */
async function isRefused(connected: ConnectedPeer, method: string, answer: object): Promise<boolean> {
  const stop = new AbortController()
  connected.onWarning = () => stop.abort()
  connected.peer.answer = () => answer
  try {
    await connected.client.request(method, { ...params[method] }, { signal: stop.signal })
    return stop.signal.aborted
  } catch (error) {
    if (!stop.signal.aborted) unlessMeant(error)
    return !(error instanceof RpcError && 'error' in answer)
  }
}

/** Whether a subscription that ends so counts as broken off, and not as ended by the server. */
async function isNoEnd({ client, peer }: ConnectedPeer, result: object): Promise<boolean> {
  let id: unknown
  peer.answer = (_method, message) => {
    id = Reflect.get(message, 'id')
    return undefined
  }
  const watching = client.watch({ toolsListChanged: true })
  await settled()
  const meta = { 'io.modelcontextprotocol/subscriptionId': id }
  const params = { notifications: { toolsListChanged: true }, _meta: meta }
  peer.send({ jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params })
  const watch = await watching
  let isOver = false
  watch.closed.then(() => {
    isOver = true
  })
  const named = JSON.parse(JSON.stringify({ result }).replace('"its own"', JSON.stringify(id)))
  peer.send({ jsonrpc: '2.0', id, ...named })
  await settled()
  const isBroken = !isOver
  await watch.close()
  return isBroken
}

function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
}

/** @throws any error but those that the client means */
function unlessMeant(error: unknown): undefined {
  if (!(error instanceof McpError || error instanceof RpcError)) throw error
}

function faults(revision: ProtocolVersion, method: string, answer: object): string[] {
  return checkWire(revision, 'server', { jsonrpc: '2.0', id: 1, ...answer }, method)
}
