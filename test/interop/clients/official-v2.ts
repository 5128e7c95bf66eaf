import type { ProtocolVersion } from '@jackfield/sdk'
import {
  Client,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SSEClientTransport,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import {
  type ClientAnswers,
  type ClientKind,
  type ConnectWith,
  type Failed,
  messageOf,
  nothingReceived,
  type Received,
  type ServerAddress,
  type TestClient,
} from '../suite/test-client.ts'

const info = { name: 'official-client', version: '2.0.0' }
const logLevelKey = 'io.modelcontextprotocol/logLevel'
const modern: ProtocolVersion = '2026-07-28'

/** `@modelcontextprotocol/client` 2, limited to one revision. */
export const officialV2: ClientKind = {
  name: 'official client v2',
  ours: false,
  dropsLateProgress: true,
  failure,
  async connect(address, revision, options) {
    const { answers } = options
    const client = new Client(info, {
      capabilities: answers ? capabilities : {},
      ...(revision === modern
        ? { versionNegotiation: { mode: { pin: revision } } }
        : { versionNegotiation: { mode: 'legacy' }, supportedProtocolVersions: [revision] }),
    })
    const received = nothingReceived()
    if (answers) answer(client, answers)
    receive(client, received)
    await client.connect(transportTo(address, options))
    return guestOf(client, received, revision === modern)
  },
}

const capabilities = {
  elicitation: { form: {}, url: {} },
  sampling: { tools: {} },
  roots: { listChanged: true },
}

function transportTo(address: ServerAddress, { fetch }: ConnectWith) {
  if ('command' in address) {
    return new StdioClientTransport({ command: address.command, args: [...address.args], stderr: 'ignore' })
  }
  const url = new URL(address.url)
  return address.transport === 'sse'
    ? new SSEClientTransport(url, { fetch })
    : new StreamableHTTPClientTransport(url, { fetch })
}

function answer(client: Client, answers: ClientAnswers): void {
  client.setRequestHandler('elicitation/create', ({ params }) => ({ ...answers.person(params) }))
  client.setRequestHandler('sampling/createMessage', ({ params }) => ({ ...answers.model(params) }))
  client.setRequestHandler('roots/list', () => ({ roots: answers.folders }))
}

function receive(client: Client, { logs, changes, completed }: Received): void {
  client.setNotificationHandler('notifications/message', ({ params }) => {
    logs.push(params)
  })
  for (const list of ['tools', 'prompts', 'resources'] as const) {
    client.setNotificationHandler(`notifications/${list}/list_changed`, () => {
      changes.push(list)
    })
  }
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
    changes.push(params.uri)
  })
  client.setNotificationHandler('notifications/elicitation/complete', ({ params }) => {
    completed.push(params.elicitationId)
  })
}

function guestOf(client: Client, received: Received, isModern: boolean): TestClient {
  let level: string | undefined
  const metaWith = (meta: object | undefined) => {
    const all = { ...meta, ...(isModern && level !== undefined && { [logLevelKey]: level }) }
    return Object.keys(all).length === 0 ? {} : { _meta: all }
  }
  return {
    revision: client.getNegotiatedProtocolVersion(),
    server: client.getServerVersion(),
    instructions: client.getInstructions(),
    capabilities: client.getServerCapabilities(),
    notifications: received,
    tools: async () => (await client.listTools({}, { cacheMode: 'refresh' })).tools,
    call: (name, args = {}, { onProgress, signal, timeoutMs, meta } = {}) =>
      client.callTool(
        { name, arguments: args, ...metaWith(meta) },
        {
          ...(onProgress && { onprogress: onProgress }),
          ...(signal && { signal }),
          ...(timeoutMs !== undefined && { timeout: timeoutMs }),
        },
      ),
    resources: async () => (await client.listResources({}, { cacheMode: 'refresh' })).resources,
    templates: async () => (await client.listResourceTemplates()).resourceTemplates,
    read: async (uri) => (await client.readResource({ uri })).contents,
    prompts: async () => (await client.listPrompts({}, { cacheMode: 'refresh' })).prompts,
    prompt: async (name, args = {}) => (await client.getPrompt({ name, arguments: args })).messages,
    async complete(ref, argument, context) {
      const { completion } = await client.complete({
        ref:
          'prompt' in ref
            ? { type: 'ref/prompt', name: ref.prompt }
            : { type: 'ref/resource', uri: ref.template },
        argument,
        ...(context && { context: { arguments: context } }),
      })
      return completion
    },
    async page(method, cursor) {
      // Without a cursor its list methods give all pages at once.
      const params = cursor === undefined ? {} : { cursor }
      if (method === 'tools/list') {
        const { tools, nextCursor } = await client.request({ method, params })
        return { names: tools.map(({ name }) => name), nextCursor }
      }
      if (method === 'prompts/list') {
        const { prompts, nextCursor } = await client.request({ method, params })
        return { names: prompts.map(({ name }) => name), nextCursor }
      }
      const { resources, nextCursor } = await client.request({ method, params })
      return { names: resources.map(({ uri }) => uri), nextCursor }
    },
    async logLevel(wanted) {
      level = wanted
      if (!isModern) await client.setLoggingLevel(wanted)
    },
    async watch({ tools = false, prompts = false, resources = false, uris = [] }) {
      if (isModern) {
        const subscription = await client.listen({
          ...(tools && { toolsListChanged: true }),
          ...(prompts && { promptsListChanged: true }),
          ...(resources && { resourcesListChanged: true }),
          ...(uris.length > 0 && { resourceSubscriptions: uris }),
        })
        return () => subscription.close()
      }
      for (const uri of uris) await client.subscribeResource({ uri })
      return async () => {
        for (const uri of uris) await client.unsubscribeResource({ uri })
      }
    },
    rootsChanged: () => client.sendRootsListChanged(),
    async ping() {
      if (isModern) await client.discover()
      else await client.ping()
    },
    close: () => client.close(),
  }
}

function failure(error: unknown): Failed {
  const message = messageOf(error)
  if (error instanceof ProtocolError) return { kind: 'rpc', code: error.code, message, data: error.data }
  if (!(error instanceof SdkError)) return { kind: 'other', message }
  switch (error.code) {
    case SdkErrorCode.RequestTimeout:
      return { kind: message.includes('timed out') ? 'timeout' : 'cancelled', message }
    case SdkErrorCode.ConnectionClosed:
    case SdkErrorCode.NotConnected:
      return { kind: 'closed', message }
    default:
      return { kind: 'other', message: `${error.code}: ${message}` }
  }
}
