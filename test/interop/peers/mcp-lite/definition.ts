import { type Ctx, McpServer } from 'mcp-lite'
import { z } from 'zod'
import {
  choicesForm,
  colorForm,
  contents,
  embedded,
  failure,
  image,
  later,
  modelRequest,
  nameForm,
  notes,
  png,
  resultMeta,
  stateOf,
  waitFor,
  weather,
} from '../contract.ts'

const say = (text: string) => ({ content: [{ type: 'text' as const, text }] })
const never = new AbortController().signal

/** Its types ask for a member `type` in texts of resources, which the protocol has not. */
function itsOwn(block: (typeof contents)[keyof typeof contents]['content'][number]) {
  if (block.type !== 'resource') return block
  const { resource } = block
  return { ...block, resource: 'text' in resource ? { ...resource, type: 'text' as const } : resource }
}

/** The fixture on mcp-lite: one server for every session. */
export function createFixture(): McpServer {
  const server = new McpServer({
    name: 'fixture',
    version: '1.0.0',
    // It takes any Standard Schema; all schemas here are zod's.
    schemaAdapter: (schema) => (schema instanceof z.ZodType ? z.toJSONSchema(schema) : {}),
  })
  addTools(server)
  addRunning(server)
  addAsking(server)
  addChanges(server)
  addResources(server)
  addPrompts(server)
  return server
}

function addTools(server: McpServer): void {
  for (const [name, { content }] of Object.entries(contents)) {
    server.tool(name, { handler: () => ({ content: content.map(itsOwn) }) })
  }
  server.tool('structured', {
    inputSchema: z.object({ city: z.string() }),
    outputSchema: z.object({ city: z.string(), degrees: z.number(), tags: z.array(z.string()) }),
    handler: ({ city }) => {
      const structuredContent = { ...weather, city }
      return { ...say(JSON.stringify(structuredContent)), structuredContent }
    },
  })
  server.tool('fails', { handler: () => ({ ...say(failure), isError: true }) })
  server.tool('throws', {
    handler: () => {
      throw new Error('thrown')
    },
  })
  server.tool('echo', { inputSchema: z.object({ text: z.string() }), handler: ({ text }) => say(text) })
  server.tool('json', {
    inputSchema: z.object({ value: z.unknown() }),
    handler: ({ value }) => say(JSON.stringify(value)),
  })
  server.tool('add', {
    title: 'Sum',
    description: 'Adds two numbers',
    annotations: { readOnlyHint: true, openWorldHint: false },
    inputSchema: z.object({ a: z.number(), b: z.number() }),
    handler: ({ a, b }) => say(String(a + b)),
  })
  const withMeta = z.object({ _meta: z.record(z.string(), z.unknown()) })
  server.tool('meta', {
    handler: (_args, { request }) => ({
      ...say(JSON.stringify(withMeta.parse(request.params)._meta)),
      _meta: resultMeta,
    }),
  })
}

function addRunning(server: McpServer): void {
  const key = z.object({ key: z.string() })
  server.tool('progress', {
    inputSchema: z.object({ steps: z.number(), tag: z.string() }),
    handler: async ({ steps, tag }, ctx) => {
      for (let progress = 1; progress <= steps; progress++) {
        await ctx.progress?.({ progress, total: steps, message: `${tag} ${progress}` })
        await later(10)
      }
      return say('Done.')
    },
  })
  server.tool('wait', {
    inputSchema: key,
    handler: async ({ key }) => {
      await waitFor(key, never)
      return say('Stopped.')
    },
  })
  server.tool('waits', { inputSchema: key, handler: ({ key }) => say(stateOf(key)) })
  server.tool('slow', {
    inputSchema: z.object({ ms: z.number(), text: z.string() }),
    handler: async ({ ms, text }) => {
      await later(ms)
      return say(text)
    },
  })
}

function addAsking(server: McpServer): void {
  const asking = (name: string, run: (ctx: Ctx) => Promise<string>): void => {
    server.tool(name, { handler: async (_args, ctx) => say(await run(ctx)) })
  }
  const askName = (ctx: Ctx) =>
    ctx.elicit<{ name: string }>({ message: 'What is your name?', schema: nameForm })
  asking('ask', async (ctx) => {
    const answer = await askName(ctx)
    return JSON.stringify(answer)
  })
  asking('ask_choices', async (ctx) =>
    JSON.stringify(await ctx.elicit({ message: 'How do you take your tea?', schema: choicesForm })),
  )
  asking('ask_twice', async (ctx) => {
    const first = await askName(ctx)
    const question = { message: 'Which color do you like?', schema: colorForm }
    const second = await ctx.elicit<{ color: string }>(question)
    const name = first.action === 'accept' ? first.content?.name : first.action
    return `${name} likes ${second.action === 'accept' ? second.content?.color : second.action}`
  })
  asking('sample', async (ctx) => {
    const { maxTokens, systemPrompt } = modelRequest
    const { model, content } = await ctx.sample({
      prompt: 'Which tea?',
      maxTokens,
      systemPrompt,
      modelPreferences: {},
    })
    return `${model}: ${content.type === 'text' ? content.text : content.type}`
  })
}

function addChanges(server: McpServer): void {
  const changing = (name: string, run: () => void): void => {
    server.tool(name, {
      handler: () => {
        run()
        return say('Changed.')
      },
    })
  }
  changing('change_tools', () => server.tool('late_tool', { handler: () => say('Late.') }))
  changing('change_prompts', () => server.prompt('late_prompt', { handler: () => ({ messages: [] }) }))
  changing('change_resources', () => {
    server.resource('fixture://late', { name: 'late' }, async () => ({ contents: [] }))
  })
}

function addResources(server: McpServer): void {
  const mimeType = 'text/plain'
  const texts = { text: 'A plain text', watched: 'A text that changes' }
  for (const [name, description] of Object.entries(texts)) {
    const uri = `fixture://${name}`
    server.resource(uri, { name, description, mimeType }, async () => ({
      contents: [{ type: 'text', uri, mimeType, text: notes[uri] ?? '' }],
    }))
  }
  server.resource('fixture://pixel', { name: 'pixel', mimeType: 'image/png' }, async () => ({
    contents: [{ uri: 'fixture://pixel', mimeType: 'image/png', blob: png }],
  }))
  server.resource('fixture://two', { name: 'two' }, async () => ({
    contents: [
      { type: 'text', uri: 'fixture://two#1', text: 'one' },
      { uri: 'fixture://two#2', blob: png },
    ],
  }))
  server.resource(
    'fixture://notes/{language}/{town}',
    { name: 'note' },
    async ({ href }, { language, town }) => ({
      contents: [{ type: 'text', uri: href, text: `${decodeURIComponent(String(town))} in ${language}` }],
    }),
  )
}

function addPrompts(server: McpServer): void {
  const user = (text: string) => ({ role: 'user' as const, content: { type: 'text' as const, text } })
  server.prompt('plain', { handler: () => ({ messages: [user('Say something plain.')] }) })
  server.prompt('greet', {
    arguments: z.object({ language: z.string(), town: z.string().optional() }),
    handler: ({ language, town = 'somewhere' }: { language: string; town?: string }) => ({
      messages: [
        user(`Greet in ${language}, ${town}.`),
        { role: 'assistant', content: { type: 'text', text: 'Gladly.' } },
      ],
    }),
  })
  server.prompt('picture', { handler: () => ({ messages: [{ role: 'user', content: image }] }) })
  server.prompt('document', { handler: () => ({ messages: [{ role: 'user', content: embedded }] }) })
}
