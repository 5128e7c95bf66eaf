import type { CallToolResult, ElicitParams, Server } from '@jackfield/sdk'
import { type Client, type ConnectOptions, connect } from '@jackfield/sdk/client'
import { serveHttp } from '@jackfield/sdk/http'
import { Client as OfficialClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { onTestFinished } from 'vitest'

/** Answers every form with its first field, as one who fills it in. */
export function filling(params: ElicitParams) {
  const [field = 'none'] = params.mode === 'url' ? [] : Object.keys(params.requestedSchema.properties)
  return { action: 'accept' as const, content: { [field]: `client ${field}` } }
}

const answers: ConnectOptions = {
  onElicit: filling,
  onSample: () => ({ role: 'assistant', content: { type: 'text', text: 'thought' }, model: 'of-client' }),
  onRoots: [{ uri: 'file:///client' }],
}

/** A client of ours, in this process. */
export async function ours(server: Server, options: ConnectOptions = answers): Promise<Client> {
  const client = await connect(server, { info: { name: 'our client', version: '1' }, ...options })
  onTestFinished(() => client.close())
  return client
}

export type Revision = '2026-07-28' | '2025-11-25' | '2025-06-18'

/** Something that calls tools. */
export interface Caller {
  call(name: string, args?: Record<string, unknown>): Promise<CallToolResult>
}

export const kinds: Record<string, (server: Server) => Promise<Caller>> = {
  'our client of 2026-07-28': (server) => ours(server, { ...answers, revisions: ['2026-07-28'] }),
  'our client of 2025-11-25': (server) => ours(server, { ...answers, revisions: ['2025-11-25'] }),
  'the official client of 2026-07-28': (server) =>
    official(server, { versionNegotiation: { mode: { pin: '2026-07-28' } } }),
  'the official client of 2025-11-25': (server) =>
    official(server, { versionNegotiation: { mode: 'legacy' }, supportedProtocolVersions: ['2025-11-25'] }),
}

async function official(
  server: Server,
  options: ConstructorParameters<typeof OfficialClient>[1],
): Promise<Caller> {
  const listener = await serveHttp(server, { keys: ['g'.repeat(32)] }).listen()
  const client = new OfficialClient(
    { name: 'official', version: '2' },
    { capabilities: { elicitation: { form: {} }, sampling: {}, roots: {} }, ...options },
  )
  client.setRequestHandler('elicitation/create', ({ params }) => {
    const fields = 'requestedSchema' in params ? Object.keys(params.requestedSchema.properties) : []
    return { action: 'accept', content: { [fields[0] ?? 'none']: `client ${fields[0]}` } }
  })
  client.setRequestHandler('sampling/createMessage', () => ({
    role: 'assistant' as const,
    content: { type: 'text' as const, text: 'thought' },
    model: 'of-client',
  }))
  client.setRequestHandler('roots/list', () => ({ roots: [{ uri: 'file:///client' }] }))
  await client.connect(new StreamableHTTPClientTransport(new URL(listener.url)))
  onTestFinished(async () => {
    await client.close()
    await listener.close()
  })
  return {
    call: async (name, args = {}) => {
      const { content, isError, structuredContent } = await client.callTool({ name, arguments: args })
      const result: CallToolResult = JSON.parse(JSON.stringify({ content, isError, structuredContent }))
      return result
    },
  }
}

export function text({ content }: CallToolResult): string {
  return content.map((block) => (block.type === 'text' ? block.text : block.type)).join('\n')
}
