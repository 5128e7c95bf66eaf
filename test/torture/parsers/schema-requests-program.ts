import type { ProtocolVersion } from '@jackfield/sdk'
import { z } from 'zod'
import { defineServer, prompt, resource, tool } from '../../../packages/sdk/src/index.ts'
import { protocolVersions } from '../../../packages/sdk/src/protocol/methods.ts'
import { DuplexConnection } from '../../../packages/sdk/src/transports/server/duplex-connection.ts'
import { checkWire } from '../../../packages/sdk/test/schema/wire.ts'
import { changesOf, Differences, print } from './schema-differences.ts'

// Changes every place of every request that a client may send, in every revision, and prints where our server and the
// official schema of the revision do not agree on whether it may be sent so.

const stateless = '2026-07-28'
const internalError = -32603

const server = defineServer({
  name: 'judged',
  version: '1.0.0',
  // Errors are expected here, and formatting them takes longer than the messages.
  onError: () => {},
  tools: { add: tool({ description: 'Adds', input: z.looseObject({}), run: () => 'added' }) },
  resources: { readme: resource({ uri: 'file:///readme', read: () => 'text' }) },
  prompts: {
    greet: prompt({
      description: 'Greets',
      input: z.object({ name: z.string().optional() }),
      complete: { name: () => ['Ann'] },
      run: () => 'hello',
    }),
  },
})

/** A right message of each method, with every member that has a type of its own. */
const requests: Readonly<Record<string, object>> = {
  initialize: {
    capabilities: { roots: { listChanged: true }, experimental: { x: {} } },
    clientInfo: { name: 'n', version: '1' },
  },
  ping: {},
  'server/discover': {},
  'tools/list': {},
  'tools/call': { name: 'add', arguments: { a: 1 } },
  'resources/list': {},
  'resources/templates/list': {},
  'resources/read': { uri: 'file:///readme' },
  'resources/subscribe': { uri: 'file:///readme' },
  'resources/unsubscribe': { uri: 'file:///readme' },
  'prompts/list': {},
  'prompts/get': { name: 'greet', arguments: { name: 'x' } },
  'completion/complete': {
    ref: { type: 'ref/prompt', name: 'greet' },
    argument: { name: 'name', value: '' },
  },
  'logging/setLevel': { level: 'info' },
  'subscriptions/listen': {
    notifications: {
      toolsListChanged: true,
      promptsListChanged: true,
      resourcesListChanged: true,
      resourceSubscriptions: ['file:///readme'],
    },
  },
}
const sent = new Differences('request')
for (const revision of protocolVersions) {
  for (const [method, params] of Object.entries(requests)) {
    const message = messageOf(revision, method, params)
    if (checkWire(revision, 'client', message).length > 0) continue
    for (const change of changesOf(message)) {
      const wrong = checkWire(revision, 'client', change.changed).length > 0
      sent.note(revision, method, change, { wrong, refused: await isRefused(revision, change.changed) })
    }
  }
}
await print(sent)

function messageOf(revision: ProtocolVersion, method: string, params: object): object {
  const own = {
    'io.modelcontextprotocol/protocolVersion': stateless,
    'io.modelcontextprotocol/clientInfo': { name: 'n', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const meta = { progressToken: 'p', ...(revision === stateless ? own : {}) }
  const version = method === 'initialize' ? { protocolVersion: revision } : {}
  return { jsonrpc: '2.0', id: 'asked', method, params: { ...version, ...params, _meta: meta } }
}

/** Whether the server answers with an error, and one that it meant. */
async function isRefused(revision: ProtocolVersion, message: object): Promise<boolean> {
  const answers: object[] = []
  const connection = new DuplexConnection(server, (answer) => answers.push(answer))
  if (revision !== stateless && Reflect.get(message, 'method') !== 'initialize') {
    const { params } = Object(messageOf(revision, 'initialize', requests['initialize'] ?? {}))
    connection.receive({
      jsonrpc: '2.0',
      id: 'hello',
      method: 'initialize',
      params: { ...params, protocolVersion: revision },
    })
    await settled()
    answers.length = 0
    connection.receive({ jsonrpc: '2.0', method: 'notifications/initialized' })
  }
  connection.receive(JSON.parse(JSON.stringify(message)))
  await settled()
  const [answer] = answers.filter((one) => !('method' in one))
  await connection.close()
  return answer !== undefined && 'error' in answer && Object(answer.error).code !== internalError
}

function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
}
