import { McpError, RpcError } from '@jackfield/sdk'
import { type Client, type ConnectOptions, connect, http, sse } from '@jackfield/sdk/client'
import { stdio } from '@jackfield/sdk/client/stdio'
import {
  type ClientAnswers,
  type ClientKind,
  type ConnectWith,
  type Failed,
  type ListMethod,
  messageOf,
  nothingReceived,
  type Received,
  type ServerAddress,
  type TestClient,
} from '../suite/test-client.ts'

/** This project's client. */
export const jackfield: ClientKind = {
  name: 'jackfield client',
  ours: true,
  failure,
  async connect(address, revision, options) {
    const received = nothingReceived()
    const client = await connect(link(address, options), {
      ...(options.only && { revisions: [revision] }),
      ...(options.answers && answering(options.answers)),
      timeoutMs: 5000,
      onLog: ({ level, data, logger }) => received.logs.push({ level, data, logger }),
      onChange: (change) => received.changes.push(change.type === 'resource' ? change.uri : change.type),
      onElicitationComplete: (id) => received.completed.push(id),
    })
    return guestOf(client, received)
  },
}

function link(address: ServerAddress, { fetch }: ConnectWith) {
  if ('command' in address) return stdio({ command: address.command, args: address.args })
  return address.transport === 'sse' ? sse(address.url, { fetch }) : http(address.url, { fetch })
}

function answering(answers: ClientAnswers): ConnectOptions {
  return {
    elicitation: { form: true, url: true },
    sampling: { tools: true },
    onElicit: (question) => answers.person(question),
    onSample: (question) => answers.model(question),
    onRoots: () => answers.folders,
  }
}

function guestOf(client: Client, received: Received): TestClient {
  const { server } = client
  return {
    revision: server.revision,
    server: server.info,
    instructions: server.instructions,
    capabilities: server.capabilities,
    notifications: received,
    tools: () => client.tools(),
    call: (name, args, options) => client.call(name, args, options),
    resources: () => client.resources(),
    templates: () => client.templates(),
    read: async (uri) => (await client.read(uri)).contents,
    prompts: () => client.prompts(),
    prompt: async (name, args) => (await client.prompt(name, args)).messages,
    complete: (ref, argument, context) =>
      client.complete({
        ref:
          'prompt' in ref
            ? { type: 'ref/prompt', name: ref.prompt }
            : { type: 'ref/resource', uri: ref.template },
        argument,
        ...(context && { context: { arguments: context } }),
      }),
    page: (method, cursor) => page(client, method, cursor),
    logLevel: (level) => client.setLogLevel(level),
    async watch({ tools = false, prompts = false, resources = false, uris }) {
      const watch = await client.watch({
        ...(tools && { toolsListChanged: true }),
        ...(prompts && { promptsListChanged: true }),
        ...(resources && { resourcesListChanged: true }),
        ...(uris && { resourceSubscriptions: uris }),
      })
      return () => watch.close()
    },
    rootsChanged: () => client.rootsChanged(),
    ping: () => client.ping(),
    close: () => client.close(),
  }
}

async function page(
  client: Client,
  method: ListMethod,
  cursor: string | undefined,
): ReturnType<TestClient['page']> {
  const params: { cursor?: string } = cursor === undefined ? {} : { cursor }
  switch (method) {
    case 'tools/list': {
      const page = await client.request<'tools/list'>('tools/list', params)
      return { names: page.tools.map(({ name }) => name), nextCursor: page.nextCursor }
    }
    case 'prompts/list': {
      const page = await client.request<'prompts/list'>('prompts/list', params)
      return { names: page.prompts.map(({ name }) => name), nextCursor: page.nextCursor }
    }
    case 'resources/list': {
      const page = await client.request<'resources/list'>('resources/list', params)
      return { names: page.resources.map(({ uri }) => uri), nextCursor: page.nextCursor }
    }
  }
}

function failure(error: unknown): Failed {
  const message = messageOf(error)
  if (error instanceof RpcError) return { kind: 'rpc', code: error.code, message, data: error.data }
  if (!(error instanceof McpError)) return { kind: 'other', message }
  switch (error.code) {
    case 'TIMEOUT':
      return { kind: 'timeout', message }
    case 'CANCELLED':
      return { kind: 'cancelled', message }
    case 'CONNECTION_CLOSED':
    case 'OUTCOME_UNKNOWN':
      return { kind: 'closed', message }
    default:
      return { kind: 'other', message }
  }
}
