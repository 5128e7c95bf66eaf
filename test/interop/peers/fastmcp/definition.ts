import { type Context, FastMCP, UserError } from 'fastmcp'
import { z } from 'zod'
import {
  choicesForm,
  colorForm,
  contents,
  embedded,
  exitSoon,
  failure,
  image,
  instructions,
  languages,
  later,
  modelRequest,
  nameForm,
  notes,
  png,
  resultMeta,
  signInId,
  signInUrl,
  startingWith,
  stateOf,
  waitFor,
  weather,
} from '../contract.ts'

const say = (text: string) => ({ content: [{ type: 'text' as const, text }] })
type Ctx = Context<undefined>

/** The fixture on fastmcp. */
export function createFixture(): FastMCP<undefined> {
  const quiet = () => {}
  const server = new FastMCP<undefined>({
    name: 'fixture',
    version: '1.0.0',
    instructions,
    logger: { debug: quiet, error: quiet, info: quiet, log: quiet, warn: quiet },
    ping: { enabled: false },
  })
  addTools(server)
  addRunning(server)
  addAsking(server)
  addChanges(server)
  addResources(server)
  addPrompts(server)
  return server
}

function addTools(server: FastMCP<undefined>): void {
  for (const [name, { content }] of Object.entries(contents)) {
    server.addTool({ name, execute: async () => ({ content: [...content] }) })
  }
  server.addTool({
    name: 'structured',
    parameters: z.object({ city: z.string() }),
    outputSchema: z.object({ city: z.string(), degrees: z.number(), tags: z.array(z.string()) }),
    execute: async ({ city }) => ({ ...weather, city }),
  })
  server.addTool({
    name: 'fails',
    execute: async () => {
      throw new UserError(failure)
    },
  })
  server.addTool({
    name: 'throws',
    execute: async () => {
      throw new Error('thrown')
    },
  })
  server.addTool({
    name: 'echo',
    parameters: z.object({ text: z.string() }),
    execute: async ({ text }) => say(text),
  })
  server.addTool({
    name: 'json',
    parameters: z.object({ value: z.unknown() }),
    execute: async ({ value }) => say(JSON.stringify(value)),
  })
  server.addTool({
    name: 'add',
    description: 'Adds two numbers',
    annotations: { readOnlyHint: true, openWorldHint: false },
    parameters: z.object({ a: z.number(), b: z.number() }),
    execute: async ({ a, b }) => say(String(a + b)),
  })
  server.addTool({ name: 'sends_meta', execute: async () => ({ ...say('{}'), _meta: resultMeta }) })
}

function addRunning(server: FastMCP<undefined>): void {
  const key = z.object({ key: z.string() })
  server.addTool({
    name: 'progress',
    parameters: z.object({ steps: z.number(), tag: z.string() }),
    execute: async ({ steps }, { reportProgress }) => {
      for (let progress = 1; progress <= steps; progress++) {
        await reportProgress({ progress, total: steps })
        await later(10)
      }
      return say('Done.')
    },
  })
  server.addTool({
    name: 'log',
    execute: async (_args, { log }) => {
      log.debug('fine grain')
      log.info('steps', { step: 1, of: ['two'] })
      log.warn('hot')
      log.error('boils over')
      await later(10)
      return say('Logged.')
    },
  })
  server.addTool({
    name: 'wait',
    parameters: key,
    execute: async ({ key }, { signal }) => {
      await waitFor(key, signal)
      return say('Stopped.')
    },
  })
  server.addTool({ name: 'waits', parameters: key, execute: async ({ key }) => say(stateOf(key)) })
  server.addTool({
    name: 'slow',
    parameters: z.object({ ms: z.number(), text: z.string() }),
    execute: async ({ ms, text }) => {
      await later(ms)
      return say(text)
    },
  })
  server.addTool({ name: 'exit', execute: () => exitSoon() })
}

function addAsking(server: FastMCP<undefined>): void {
  const asking = (name: string, run: (ctx: Ctx) => Promise<string>): void => {
    server.addTool({ name, execute: async (_args, ctx) => say(await run(ctx)) })
  }
  const session = ({ sessionId }: Ctx) => {
    const found = server.sessions.find((one) => one.sessionId === sessionId)
    if (found === undefined) throw new Error('No session')
    return found
  }
  const askName = ({ elicit }: Ctx) => elicit({ message: 'What is your name?', requestedSchema: nameForm })
  asking('ask', async (ctx) => {
    const { action, content } = await askName(ctx)
    return JSON.stringify({ action, content })
  })
  asking('ask_choices', async ({ elicit }) => {
    const form = { message: 'How do you take your tea?', requestedSchema: choicesForm }
    const { action, content } = await elicit(form)
    return JSON.stringify({ action, content })
  })
  asking('ask_twice', async (ctx) => {
    const first = await askName(ctx)
    const form = { message: 'Which color do you like?', requestedSchema: colorForm }
    const second = await ctx.elicit(form)
    return `${first.content?.['name']} likes ${second.content?.['color']}`
  })
  asking('ask_url', async ({ elicit }) => {
    const urlRequest = {
      mode: 'url' as const,
      message: 'Please sign in',
      url: signInUrl,
      elicitationId: signInId,
    }
    return JSON.stringify({ action: (await elicit(urlRequest)).action })
  })
  asking('sample', async (ctx) => {
    const { model, content } = await session(ctx).requestSampling(modelRequest)
    const [block] = [content].flat()
    return `${model}: ${block?.type === 'text' ? block.text : block?.type}`
  })
  asking('folders', async (ctx) => JSON.stringify(session(ctx).roots.map(({ uri }) => uri)))
}

function addChanges(server: FastMCP<undefined>): void {
  const changing = (name: string, run: () => unknown): void => {
    server.addTool({
      name,
      execute: async () => {
        await run()
        return say('Changed.')
      },
    })
  }
  const late = { name: 'late_tool', execute: async () => say('Late.') }
  changing('change_tools', () => server.addTool(late))
  changing('unchange_tools', () => server.removeTool('late_tool'))
  changing('change_prompts', () => server.addPrompt({ name: 'late_prompt', load: async () => 'Late.' }))
  changing('change_resources', () =>
    server.addResource({ name: 'late', uri: 'fixture://late', load: async () => ({ text: 'Late.' }) }),
  )
  changing('update_watched', () => server.sendResourceUpdated('fixture://watched'))
}

function addResources(server: FastMCP<undefined>): void {
  const mimeType = 'text/plain'
  const texts = { text: 'A plain text', watched: 'A text that changes' }
  for (const [name, description] of Object.entries(texts)) {
    const uri = `fixture://${name}`
    server.addResource({ name, description, uri, mimeType, load: async () => ({ text: notes[uri] ?? '' }) })
  }
  server.addResource({
    name: 'pixel',
    uri: 'fixture://pixel',
    mimeType: 'image/png',
    load: async () => ({ blob: png }),
  })
  server.addResource({
    name: 'two',
    uri: 'fixture://two',
    load: async () => [
      { uri: 'fixture://two#1', text: 'one' },
      { uri: 'fixture://two#2', blob: png },
    ],
  })
  server.addResourceTemplate({
    name: 'note',
    uriTemplate: 'fixture://notes/{language}/{town}',
    arguments: [
      { name: 'language', complete: async (value) => ({ values: startingWith(languages, value) }) },
      { name: 'town' },
    ],
    load: async ({ language, town }) => ({ text: `${decodeURIComponent(String(town))} in ${language}` }),
  })
}

function addPrompts(server: FastMCP<undefined>): void {
  const user = (text: string) => ({ role: 'user' as const, content: { type: 'text' as const, text } })
  server.addPrompt({ name: 'plain', load: async () => 'Say something plain.' })
  server.addPrompt({
    name: 'greet',
    arguments: [
      {
        name: 'language',
        required: true,
        complete: async (value) => ({ values: startingWith(languages, value) }),
      },
      { name: 'town' },
    ],
    load: async ({ language, town = 'somewhere' }) => ({
      messages: [
        user(`Greet in ${language}, ${town}.`),
        { role: 'assistant', content: { type: 'text', text: 'Gladly.' } },
      ],
    }),
  })
  server.addPrompt({
    name: 'picture',
    load: async () => ({ messages: [{ role: 'user', content: image }] }),
  })
  server.addPrompt({
    name: 'document',
    load: async () => ({ messages: [{ role: 'user', content: embedded }] }),
  })
}
