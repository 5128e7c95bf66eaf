import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  CallToolResultSchema,
  CreateMessageRequestSchema,
  ElicitationCompleteNotificationSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  McpError,
  PromptListChangedNotificationSchema,
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
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

const info = { name: 'official-client', version: '1.0.0' }
const requestTimeout = -32001
const connectionClosed = -32000
const setProtocolVersion = StreamableHTTPClientTransport.prototype.setProtocolVersion

/** `@modelcontextprotocol/sdk` 1, which speaks the legacy era and always offers its newest revision. */
export const officialV1: ClientKind = {
  name: 'official client v1',
  ours: false,
  failure,
  async connect(address, _revision, options) {
    const { answers } = options
    const client = new Client(info, { capabilities: answers ? capabilities : {} })
    const received = nothingReceived()
    if (answers) answer(client, answers)
    receive(client, received)
    const transport = transportTo(address, options)
    let agreed: string | undefined
    // It passes the negotiated version to its transport only.
    Object.assign(transport, {
      setProtocolVersion: (version: string) => {
        agreed = version
        if (transport instanceof StreamableHTTPClientTransport) setProtocolVersion.call(transport, version)
      },
    })
    await client.connect(transport)
    return guestOf(client, received, agreed)
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
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => ({ ...answers.person(params) }))
  client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => ({ ...answers.model(params) }))
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: answers.folders }))
}

function receive(client: Client, { logs, changes, completed }: Received): void {
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => {
    logs.push(params)
  })
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
    changes.push('tools')
  })
  client.setNotificationHandler(PromptListChangedNotificationSchema, () => {
    changes.push('prompts')
  })
  client.setNotificationHandler(ResourceListChangedNotificationSchema, () => {
    changes.push('resources')
  })
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
    changes.push(params.uri)
  })
  client.setNotificationHandler(ElicitationCompleteNotificationSchema, ({ params }) => {
    completed.push(params.elicitationId)
  })
}

function guestOf(client: Client, received: Received, revision: string | undefined): TestClient {
  return {
    revision,
    server: client.getServerVersion(),
    instructions: client.getInstructions(),
    capabilities: client.getServerCapabilities(),
    notifications: received,
    tools: async () => {
      const tools: Awaited<ReturnType<typeof client.listTools>>['tools'] = []
      let cursor: string | undefined
      do {
        const page = await client.listTools(cursor === undefined ? {} : { cursor })
        tools.push(...page.tools)
        cursor = page.nextCursor
      } while (cursor !== undefined)
      return tools
    },
    async call(name, args = {}, { onProgress, signal, timeoutMs, meta } = {}) {
      const params = { name, arguments: args, ...(meta && { _meta: meta }) }
      const result = await client.callTool(params, undefined, {
        ...(onProgress && { onprogress: onProgress }),
        ...(signal && { signal }),
        ...(timeoutMs !== undefined && { timeout: timeoutMs }),
      })
      return CallToolResultSchema.parse(result)
    },
    resources: async () => (await client.listResources()).resources,
    templates: async () => (await client.listResourceTemplates()).resourceTemplates,
    read: async (uri) => (await client.readResource({ uri })).contents,
    prompts: async () => (await client.listPrompts()).prompts,
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
      const params = cursor === undefined ? {} : { cursor }
      if (method === 'tools/list') {
        const { tools, nextCursor } = await client.listTools(params)
        return { names: tools.map(({ name }) => name), nextCursor }
      }
      if (method === 'prompts/list') {
        const { prompts, nextCursor } = await client.listPrompts(params)
        return { names: prompts.map(({ name }) => name), nextCursor }
      }
      const { resources, nextCursor } = await client.listResources(params)
      return { names: resources.map(({ uri }) => uri), nextCursor }
    },
    async logLevel(level) {
      await client.setLoggingLevel(level)
    },
    async watch({ uris = [] }) {
      for (const uri of uris) await client.subscribeResource({ uri })
      return async () => {
        for (const uri of uris) await client.unsubscribeResource({ uri })
      }
    },
    rootsChanged: () => client.sendRootsListChanged(),
    async ping() {
      await client.ping()
    },
    close: () => client.close(),
  }
}

function failure(error: unknown): Failed {
  const message = messageOf(error)
  if (error instanceof McpError) {
    const { code, data } = error
    if (code === requestTimeout)
      return { kind: message.includes('timed out') ? 'timeout' : 'cancelled', message }
    if (code === connectionClosed) return { kind: 'closed', message }
    return { kind: 'rpc', code, message, data }
  }
  return { kind: message === 'Not connected' ? 'closed' : 'other', message }
}
