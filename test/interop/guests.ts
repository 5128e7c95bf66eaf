import type { ProtocolVersion } from '@jackfield/sdk'
import type { ElicitRequest, ElicitResult } from '@modelcontextprotocol/client'
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client'
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  CallToolResultSchema,
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'

/** Where a server is. */
export type Place =
  | { url: string; fetch?: (url: string | URL, init?: RequestInit) => Promise<Response> }
  | { command: string; args: string[]; cwd: string; env?: Record<string, string> }

/** How the person and the model behind a guest answer. */
export interface Answers {
  elicit?: (params: ElicitRequest['params']) => ElicitResult
  sample?: string
  roots?: { uri: string; name?: string }[]
}

/** What a guest was told without asking. */
export interface Heard {
  logs: unknown[]
  toolChanges: number
  updated: string[]
}

/** An official client, connected: the same few words for every version of it. */
export interface Guest {
  readonly revision: string | undefined
  readonly server: { name: string; version: string } | undefined
  readonly heard: Heard
  tools(): Promise<{ name: string; description?: string | undefined; inputSchema: object }[]>
  call(name: string, args?: Record<string, unknown>, onProgress?: (done: number) => void): Promise<Called>
  resources(): Promise<{ uri: string; name: string }[]>
  templates(): Promise<{ uriTemplate: string }[]>
  read(uri: string): Promise<unknown[]>
  prompts(): Promise<{ name: string }[]>
  prompt(name: string, args?: Record<string, string>): Promise<unknown[]>
  complete(prompt: string, argument: string, value: string): Promise<string[]>
  logLevel(level: 'debug' | 'info' | 'warning'): Promise<void>
  /** Listens for changes of the tools and of one resource. */
  watch(uri: string): Promise<void>
  close(): Promise<void>
}

export interface Called {
  content: unknown
  structuredContent?: unknown
  isError?: boolean | undefined
}

/** One way an official client can speak. */
export interface GuestKind {
  name: string
  revision: ProtocolVersion
  connect(place: Place, answers?: Answers): Promise<Guest>
}

const info = { name: 'official-guest', version: '1.0.0' }
const logLevelKey = 'io.modelcontextprotocol/logLevel'

const sampled = (text: string) => ({
  role: 'assistant' as const,
  content: { type: 'text' as const, text },
  model: 'test-model',
  stopReason: 'endTurn' as const,
})

const noHeard = (): Heard => ({ logs: [], toolChanges: 0, updated: [] })

const capabilitiesOf = ({ elicit, sample, roots }: Answers) => ({
  ...(elicit && { elicitation: {} }),
  ...(sample !== undefined && { sampling: {} }),
  ...(roots && { roots: {} }),
})

/** `@modelcontextprotocol/sdk` 1, which speaks the legacy era only. */
export const v1: GuestKind = {
  name: 'official client v1',
  revision: '2025-11-25',
  async connect(place, answers = {}) {
    const { elicit, sample, roots } = answers
    const client = new ClientV1(info, { capabilities: capabilitiesOf(answers) })
    const heard = noHeard()
    if (elicit) client.setRequestHandler(ElicitRequestSchema, ({ params }) => elicit(params))
    if (sample !== undefined) client.setRequestHandler(CreateMessageRequestSchema, () => sampled(sample))
    if (roots) client.setRequestHandler(ListRootsRequestSchema, () => ({ roots }))
    client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => {
      heard.logs.push(params.data)
    })
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
      heard.toolChanges++
    })
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
      heard.updated.push(params.uri)
    })
    const transport =
      'url' in place ? new HttpV1(new URL(place.url), place) : new StdioV1({ ...place, stderr: 'ignore' })
    // Its transports declare `sessionId: string | undefined` where its Transport interface has `sessionId?: string`.
    await client.connect(transport as Parameters<typeof client.connect>[0])
    return {
      revision: transport instanceof HttpV1 ? transport.protocolVersion : undefined,
      server: client.getServerVersion(),
      heard,
      tools: async () => (await client.listTools()).tools,
      async call(name, args = {}, onProgress) {
        const result = await client.callTool({ name, arguments: args }, undefined, {
          ...(onProgress && { onprogress: ({ progress }) => onProgress(progress) }),
        })
        return asCalled(CallToolResultSchema.parse(result))
      },
      resources: async () => (await client.listResources()).resources,
      templates: async () => (await client.listResourceTemplates()).resourceTemplates,
      read: async (uri) => (await client.readResource({ uri })).contents,
      prompts: async () => (await client.listPrompts()).prompts,
      prompt: async (name, args = {}) => (await client.getPrompt({ name, arguments: args })).messages,
      complete: async (prompt, name, value) =>
        (await client.complete({ ref: { type: 'ref/prompt', name: prompt }, argument: { name, value } }))
          .completion.values,
      logLevel: async (level) => {
        await client.setLoggingLevel(level)
      },
      watch: async (uri) => {
        await client.subscribeResource({ uri })
      },
      close: () => client.close(),
    }
  },
}

/** `@modelcontextprotocol/client` 2, held to one era. */
const v2 = (revision: ProtocolVersion, mode: 'legacy' | { pin: string }): GuestKind => ({
  name: `official client v2 at ${revision}`,
  revision,
  async connect(place, answers = {}) {
    const { elicit, sample, roots } = answers
    const client = new ClientV2(info, {
      capabilities: capabilitiesOf(answers),
      versionNegotiation: { mode },
    })
    const heard = noHeard()
    let level: string | undefined
    if (elicit) client.setRequestHandler('elicitation/create', ({ params }) => elicit(params))
    if (sample !== undefined) client.setRequestHandler('sampling/createMessage', () => sampled(sample))
    if (roots) client.setRequestHandler('roots/list', () => ({ roots }))
    client.setNotificationHandler('notifications/message', ({ params }) => {
      heard.logs.push(params.data)
    })
    client.setNotificationHandler('notifications/tools/list_changed', () => {
      heard.toolChanges++
    })
    client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
      heard.updated.push(params.uri)
    })
    await client.connect(
      'url' in place ? new HttpV2(new URL(place.url), place) : new StdioV2({ ...place, stderr: 'ignore' }),
    )
    const modern = mode !== 'legacy'
    return {
      revision: client.getNegotiatedProtocolVersion(),
      server: client.getServerVersion(),
      heard,
      tools: async () => (await client.listTools()).tools,
      call: async (name, args = {}, onProgress) => {
        const meta = modern && level !== undefined ? { _meta: { [logLevelKey]: level } } : {}
        return asCalled(
          await client.callTool(
            { name, arguments: args, ...meta },
            { ...(onProgress && { onprogress: ({ progress }) => onProgress(progress) }) },
          ),
        )
      },
      resources: async () => (await client.listResources()).resources,
      templates: async () => (await client.listResourceTemplates()).resourceTemplates,
      read: async (uri) => (await client.readResource({ uri })).contents,
      prompts: async () => (await client.listPrompts()).prompts,
      prompt: async (name, args = {}) => (await client.getPrompt({ name, arguments: args })).messages,
      complete: async (prompt, name, value) =>
        (await client.complete({ ref: { type: 'ref/prompt', name: prompt }, argument: { name, value } }))
          .completion.values,
      logLevel: async (wanted) => {
        level = wanted
        if (!modern) await client.setLoggingLevel(wanted)
      },
      watch: async (uri) => {
        if (modern) await client.listen({ toolsListChanged: true, resourceSubscriptions: [uri] })
        else await client.subscribeResource({ uri })
      },
      close: () => client.close(),
    }
  },
})

function asCalled({ content, structuredContent, isError }: Called): Called {
  return { content, structuredContent, isError }
}

/** Every official client there is, in every era it speaks. */
export const guests: GuestKind[] = [v1, v2('2025-11-25', 'legacy'), v2('2026-07-28', { pin: '2026-07-28' })]
