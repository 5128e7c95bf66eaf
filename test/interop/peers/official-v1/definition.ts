import { completable } from '@modelcontextprotocol/sdk/server/completable.js'
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js'
import {
  ListResourcesRequestSchema,
  McpError,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { z } from 'zod'
import {
  contents,
  embedded,
  exitSoon,
  failure,
  image,
  instructions,
  languages,
  later,
  logged,
  notes,
  png,
  resultMeta,
  startingWith,
  stateOf,
  towns,
  waitFor,
  weather,
} from '../contract.ts'
import { registerAsking } from './asking.ts'

const say = (text: string) => ({ content: [{ type: 'text' as const, text }] })

interface Open {
  mcp: McpServer
  watched: Set<string>
}

const open = new Set<Open>()

/** One session's server. `forget` makes its host forget all sessions. */
export function createFixture(forget: () => void): McpServer {
  const mcp = new McpServer(
    { name: 'fixture', version: '1.0.0' },
    { instructions, capabilities: { logging: {}, resources: { subscribe: true, listChanged: true } } },
  )
  const one: Open = { mcp, watched: new Set() }
  open.add(one)
  mcp.server.onclose = () => open.delete(one)
  registerTools(mcp)
  registerRunning(mcp)
  registerAsking(mcp)
  registerChanges(mcp, forget)
  registerResources(one)
  registerPrompts(mcp)
  return mcp
}

function registerTools(mcp: McpServer): void {
  for (const [name, { content }] of Object.entries(contents)) {
    mcp.registerTool(name, {}, () => ({ content: [...content] }))
  }
  mcp.registerTool(
    'structured',
    {
      inputSchema: { city: z.string() },
      outputSchema: { city: z.string(), degrees: z.number(), tags: z.array(z.string()) },
    },
    ({ city }) => {
      const structuredContent = { ...weather, city }
      return { ...say(JSON.stringify(structuredContent)), structuredContent }
    },
  )
  mcp.registerTool('fails', {}, () => ({ ...say(failure), isError: true }))
  mcp.registerTool('throws', {}, () => {
    throw new Error('thrown')
  })
  mcp.registerTool('echo', { inputSchema: { text: z.string() } }, ({ text }) => say(text))
  mcp.registerTool('json', { inputSchema: { value: z.unknown() } }, ({ value }) => say(JSON.stringify(value)))
  mcp.registerTool(
    'add',
    {
      title: 'Sum',
      description: 'Adds two numbers',
      annotations: { readOnlyHint: true, openWorldHint: false },
      inputSchema: { a: z.number(), b: z.number() },
    },
    ({ a, b }) => say(String(a + b)),
  )
  mcp.registerTool('meta', {}, ({ _meta }) => ({ ...say(JSON.stringify(_meta)), _meta: resultMeta }))
}

function registerRunning(mcp: McpServer): void {
  mcp.registerTool(
    'progress',
    { inputSchema: { steps: z.number(), tag: z.string() } },
    async ({ steps, tag }, { _meta, sendNotification }) => {
      const progressToken = _meta?.progressToken
      for (let progress = 1; progress <= steps; progress++) {
        if (progressToken !== undefined) {
          const params = { progressToken, progress, total: steps, message: `${tag} ${progress}` }
          await sendNotification({ method: 'notifications/progress', params })
        }
        await later(10)
      }
      return say('Done.')
    },
  )
  mcp.registerTool('log', {}, async ({ sessionId }) => {
    for (const entry of logged) await mcp.sendLoggingMessage(entry, sessionId)
    return say('Logged.')
  })
  mcp.registerTool('wait', { inputSchema: { key: z.string() } }, async ({ key }, { signal }) => {
    await waitFor(key, signal)
    return say('Stopped.')
  })
  mcp.registerTool('waits', { inputSchema: { key: z.string() } }, ({ key }) => say(stateOf(key)))
  mcp.registerTool('slow', { inputSchema: { ms: z.number(), text: z.string() } }, async ({ ms, text }) => {
    await later(ms)
    return say(text)
  })
  mcp.registerTool('let_go', {}, async ({ closeSSEStream }) => {
    closeSSEStream?.()
    await later(50)
    return say('Here it is.')
  })
  mcp.registerTool('exit', {}, () => exitSoon())
}

function registerChanges(mcp: McpServer, forget: () => void): void {
  let late: { remove(): void } | undefined
  let prompted = false
  let listed = false
  mcp.registerTool('change_tools', {}, () => {
    late ??= mcp.registerTool('late_tool', {}, () => say('Late.'))
    return say('Changed.')
  })
  mcp.registerTool('unchange_tools', {}, () => {
    late?.remove()
    late = undefined
    return say('Changed.')
  })
  mcp.registerTool('change_prompts', {}, () => {
    if (!prompted) mcp.registerPrompt('late_prompt', {}, () => ({ messages: [] }))
    prompted = true
    return say('Changed.')
  })
  mcp.registerTool('change_resources', {}, () => {
    if (!listed) mcp.registerResource('late', 'fixture://late', {}, () => ({ contents: [] }))
    listed = true
    lateUris.add('fixture://late')
    return say('Changed.')
  })
  mcp.registerTool('update_watched', {}, async () => {
    const uri = 'fixture://watched'
    for (const { mcp: other, watched } of open)
      if (watched.has(uri)) await other.server.sendResourceUpdated({ uri })
    return say('Changed.')
  })
  mcp.registerTool('forget_sessions', {}, () => {
    forget()
    return say('Forgotten.')
  })
}

const shown = [
  { uri: 'fixture://text', name: 'text', description: 'A plain text', mimeType: 'text/plain' },
  { uri: 'fixture://pixel', name: 'pixel', mimeType: 'image/png' },
  { uri: 'fixture://two', name: 'two' },
  { uri: 'fixture://watched', name: 'watched' },
]
const lateUris = new Set<string>()
const pageSize = 2

function registerResources({ mcp, watched }: Open): void {
  const texts = ['fixture://text', 'fixture://watched'] as const
  for (const uri of texts) {
    const text = notes[uri] ?? ''
    mcp.registerResource(uri.slice(10), uri, {}, () => ({
      contents: [{ uri, mimeType: 'text/plain', text }],
    }))
  }
  mcp.registerResource('pixel', 'fixture://pixel', {}, ({ href }) => ({
    contents: [{ uri: href, mimeType: 'image/png', blob: png }],
  }))
  mcp.registerResource('two', 'fixture://two', {}, () => ({
    contents: [
      { uri: 'fixture://two#1', text: 'one' },
      { uri: 'fixture://two#2', blob: png },
    ],
  }))
  const complete = { language: (value: string) => startingWith(languages, value) }
  const template = new ResourceTemplate('fixture://notes/{language}/{town}', { list: undefined, complete })
  mcp.registerResource('note', template, {}, ({ href }, { language, town }) => ({
    contents: [{ uri: href, text: `${decodeURIComponent(String(town))} in ${language}` }],
  }))
  const { server } = mcp
  server.setRequestHandler(SubscribeRequestSchema, ({ params }) => {
    watched.add(params.uri)
    return {}
  })
  server.setRequestHandler(UnsubscribeRequestSchema, ({ params }) => {
    watched.delete(params.uri)
    return {}
  })
  server.setRequestHandler(ListResourcesRequestSchema, ({ params }) => {
    const all = [...shown, ...[...lateUris].map((uri) => ({ uri, name: 'late' }))]
    const from = params?.cursor === undefined ? 0 : Number(params.cursor)
    if (!Number.isInteger(from)) throw new McpError(-32602, 'No such cursor')
    const to = from + pageSize
    return { resources: all.slice(from, to), ...(to < all.length && { nextCursor: String(to) }) }
  })
}

function registerPrompts(mcp: McpServer): void {
  const user = (text: string) => ({ role: 'user' as const, content: { type: 'text' as const, text } })
  mcp.registerPrompt('plain', {}, () => ({ messages: [user('Say something plain.')] }))
  const argsSchema = {
    language: completable(z.string(), (value) => startingWith(languages, value)),
    town: completable(z.string().optional(), (value = '', context) =>
      startingWith(towns[context?.arguments?.['language'] ?? ''] ?? [], value),
    ),
  }
  mcp.registerPrompt('greet', { argsSchema }, ({ language, town = 'somewhere' }) => ({
    messages: [
      user(`Greet in ${language}, ${town}.`),
      { role: 'assistant', content: { type: 'text', text: 'Gladly.' } },
    ],
  }))
  mcp.registerPrompt('picture', {}, () => ({ messages: [{ role: 'user', content: image }] }))
  mcp.registerPrompt('document', {}, () => ({ messages: [{ role: 'user', content: embedded }] }))
}
