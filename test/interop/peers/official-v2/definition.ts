import { completable, McpServer, ResourceTemplate } from '@modelcontextprotocol/server'
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
const none = { inputSchema: z.object({}) }

/** What only the host of these servers can do. */
export interface Host {
  forget(): void
  /** Notifies open subscriptions of the modern era, which the server's own notifications do not reach. */
  notify(what: 'tools' | 'prompts' | 'resources' | { uri: string }): void
}

interface Open {
  mcp: McpServer
  watched: Set<string>
}

const open = new Set<Open>()
/** What was added while this process runs. */
const late = { tools: false, prompts: false, resources: false }

/** One connection's or one request's server. */
export function createFixture(host: Host): McpServer {
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
  registerResources(one)
  registerPrompts(mcp)
  registerChanges(mcp, host)
  return mcp
}

function registerTools(mcp: McpServer): void {
  for (const [name, { content }] of Object.entries(contents)) {
    mcp.registerTool(name, none, () => ({ content: [...content] }))
  }
  mcp.registerTool(
    'structured',
    {
      inputSchema: z.object({ city: z.string() }),
      outputSchema: z.object({ city: z.string(), degrees: z.number(), tags: z.array(z.string()) }),
    },
    ({ city }) => {
      const structuredContent = { ...weather, city }
      return { ...say(JSON.stringify(structuredContent)), structuredContent }
    },
  )
  mcp.registerTool('fails', none, () => ({ ...say(failure), isError: true }))
  mcp.registerTool('throws', none, () => {
    throw new Error('thrown')
  })
  mcp.registerTool('echo', { inputSchema: z.object({ text: z.string() }) }, ({ text }) => say(text))
  mcp.registerTool('json', { inputSchema: z.object({ value: z.unknown() }) }, ({ value }) =>
    say(JSON.stringify(value)),
  )
  mcp.registerTool(
    'add',
    {
      title: 'Sum',
      description: 'Adds two numbers',
      annotations: { readOnlyHint: true, openWorldHint: false },
      inputSchema: z.object({ a: z.number(), b: z.number() }),
    },
    ({ a, b }) => say(String(a + b)),
  )
  const region = z.object({ region: z.string().meta({ 'x-mcp-header': 'Region' }) })
  mcp.registerTool('region', { inputSchema: region }, ({ region }) => say(`Region: ${region}`))
  mcp.registerTool('meta', none, (_args, { mcpReq }) => ({
    ...say(JSON.stringify(mcpReq._meta)),
    _meta: resultMeta,
  }))
}

function registerRunning(mcp: McpServer): void {
  mcp.registerTool(
    'progress',
    { inputSchema: z.object({ steps: z.number(), tag: z.string() }) },
    async ({ steps, tag }, { mcpReq }) => {
      const progressToken = mcpReq._meta?.progressToken
      for (let progress = 1; progress <= steps; progress++) {
        if (progressToken !== undefined) {
          const params = { progressToken, progress, total: steps, message: `${tag} ${progress}` }
          await mcpReq.notify({ method: 'notifications/progress', params })
        }
        await later(10)
      }
      return say('Done.')
    },
  )
  mcp.registerTool('log', none, async (_args, { mcpReq }) => {
    for (const { level, data, logger } of logged) await mcpReq.log(level, data, logger)
    await later(10)
    return say('Logged.')
  })
  mcp.registerTool('wait', { inputSchema: z.object({ key: z.string() }) }, async ({ key }, { mcpReq }) => {
    await waitFor(key, mcpReq.signal)
    return say('Stopped.')
  })
  mcp.registerTool('waits', { inputSchema: z.object({ key: z.string() }) }, ({ key }) => say(stateOf(key)))
  mcp.registerTool(
    'slow',
    { inputSchema: z.object({ ms: z.number(), text: z.string() }) },
    async ({ ms, text }) => {
      await later(ms)
      return say(text)
    },
  )
  mcp.registerTool('let_go', none, async (_args, { http }) => {
    http?.closeSSE?.()
    await later(50)
    return say('Here it is.')
  })
  mcp.registerTool('exit', none, () => exitSoon())
}

function registerChanges(mcp: McpServer, host: Host): void {
  const add = {
    tools: () => mcp.registerTool('late_tool', none, () => say('Late.')),
    prompts: () => mcp.registerPrompt('late_prompt', {}, () => ({ messages: [] })),
    resources: () => mcp.registerResource('late', 'fixture://late', {}, () => ({ contents: [] })),
  }
  const added = new Map<string, { remove(): void }>()
  for (const list of ['tools', 'prompts', 'resources'] as const) {
    if (late[list]) added.set(list, add[list]())
    mcp.registerTool(`change_${list}`, none, () => {
      if (!added.has(list)) added.set(list, add[list]())
      late[list] = true
      host.notify(list)
      return say('Changed.')
    })
  }
  mcp.registerTool('unchange_tools', none, () => {
    added.get('tools')?.remove()
    added.delete('tools')
    late.tools = false
    host.notify('tools')
    return say('Changed.')
  })
  mcp.registerTool('update_watched', none, async () => {
    const uri = 'fixture://watched'
    for (const other of open) if (other.watched.has(uri)) await other.mcp.server.sendResourceUpdated({ uri })
    host.notify({ uri })
    return say('Changed.')
  })
  mcp.registerTool('forget_sessions', none, () => {
    host.forget()
    return say('Forgotten.')
  })
}

function registerResources({ mcp, watched }: Open): void {
  const texts = { 'fixture://text': 'A plain text', 'fixture://watched': 'A text that changes' }
  for (const [uri, description] of Object.entries(texts)) {
    const mimeType = 'text/plain'
    mcp.registerResource(uri.slice(10), uri, { description, mimeType }, () => ({
      contents: [{ uri, mimeType, text: notes[uri] ?? '' }],
    }))
  }
  mcp.registerResource('pixel', 'fixture://pixel', { mimeType: 'image/png' }, ({ href }) => ({
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
  mcp.server.setRequestHandler('resources/subscribe', ({ params }) => {
    watched.add(params.uri)
    return {}
  })
  mcp.server.setRequestHandler('resources/unsubscribe', ({ params }) => {
    watched.delete(params.uri)
    return {}
  })
}

function registerPrompts(mcp: McpServer): void {
  const user = (text: string) => ({ role: 'user' as const, content: { type: 'text' as const, text } })
  mcp.registerPrompt('plain', {}, () => ({ messages: [user('Say something plain.')] }))
  const argsSchema = z.object({
    language: completable(z.string(), (value) => startingWith(languages, value)),
    town: completable(z.string(), (value, context) =>
      startingWith(towns[context?.arguments?.['language'] ?? ''] ?? [], value),
    ).optional(),
  })
  mcp.registerPrompt('greet', { argsSchema }, ({ language, town = 'somewhere' }) => ({
    messages: [
      user(`Greet in ${language}, ${town}.`),
      { role: 'assistant', content: { type: 'text', text: 'Gladly.' } },
    ],
  }))
  mcp.registerPrompt('picture', {}, () => ({ messages: [{ role: 'user', content: image }] }))
  mcp.registerPrompt('document', {}, () => ({ messages: [{ role: 'user', content: embedded }] }))
}
