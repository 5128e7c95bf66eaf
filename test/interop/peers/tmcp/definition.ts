import { ZodJsonSchemaAdapter } from '@tmcp/adapter-zod'
import { McpServer } from 'tmcp'
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
  startingWith,
  stateOf,
  towns,
  waitFor,
  weather,
} from '../contract.ts'
import { defineAsking } from './asking.ts'

const say = (text: string) => ({ content: [{ type: 'text' as const, text }] })
const never = new AbortController().signal

/** The fixture on tmcp: one server for every connection. */
export function createFixture() {
  const server = new McpServer(
    { name: 'fixture', version: '1.0.0', description: 'A fixture' },
    {
      adapter: new ZodJsonSchemaAdapter(),
      instructions,
      capabilities: {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { listChanged: true, subscribe: true },
        completions: {},
        logging: {},
      },
      pagination: { tools: { size: 10 } },
    },
  )
  defineTools(server)
  defineRunning(server)
  defineAsking(server)
  defineResources(server)
  definePrompts(server)
  defineChanges(server)
  return server
}

export type Fixture = ReturnType<typeof createFixture>

function defineTools(server: Fixture): void {
  for (const [name, { kind, content }] of Object.entries(contents)) {
    server.tool({ name, description: kind }, () => ({ content: [...content] }))
  }
  const outputSchema = z.object({ city: z.string(), degrees: z.number(), tags: z.array(z.string()) })
  const schema = z.object({ city: z.string() })
  server.tool({ name: 'structured', description: 'Weather', schema, outputSchema }, ({ city }) => {
    const structuredContent = { ...weather, city }
    return { ...say(JSON.stringify(structuredContent)), structuredContent }
  })
  server.tool({ name: 'fails', description: 'Fails' }, () => ({ ...say(failure), isError: true }))
  server.tool({ name: 'throws', description: 'Throws' }, () => {
    throw new Error('thrown')
  })
  server.tool({ name: 'echo', description: 'Echo', schema: z.object({ text: z.string() }) }, ({ text }) =>
    say(text),
  )
  server.tool({ name: 'json', description: 'JSON', schema: z.object({ value: z.unknown() }) }, ({ value }) =>
    say(JSON.stringify(value)),
  )
  server.tool(
    {
      name: 'add',
      title: 'Sum',
      description: 'Adds two numbers',
      annotations: { readOnlyHint: true, openWorldHint: false },
      schema: z.object({ a: z.number(), b: z.number() }),
    },
    ({ a, b }) => say(String(a + b)),
  )
}

function defineRunning(server: Fixture): void {
  const schema = z.object({ key: z.string() })
  server.tool(
    { name: 'progress', description: 'Progress', schema: z.object({ steps: z.number(), tag: z.string() }) },
    async ({ steps, tag }) => {
      for (let step = 1; step <= steps; step++) {
        server.progress(step, steps, `${tag} ${step}`)
        await later(10)
      }
      return say('Done.')
    },
  )
  server.tool({ name: 'log', description: 'Logs' }, async () => {
    for (const { level, data, logger } of logged) server.log(level, data, logger)
    await later(10)
    return say('Logged.')
  })
  server.tool({ name: 'wait', description: 'Waits', schema }, async ({ key }) => {
    await waitFor(key, server.ctx.signal ?? never)
    return say('Stopped.')
  })
  server.tool({ name: 'waits', description: 'Tells', schema }, ({ key }) => say(stateOf(key)))
  server.tool(
    { name: 'slow', description: 'Slow', schema: z.object({ ms: z.number(), text: z.string() }) },
    async ({ ms, text }) => {
      await later(ms)
      return say(text)
    },
  )
  server.tool({ name: 'exit', description: 'Exits' }, () => exitSoon())
}

function defineChanges(server: Fixture): void {
  const tool = (name: string, run: () => void): void => {
    server.tool({ name, description: name }, () => {
      run()
      return say('Changed.')
    })
  }
  let [late, prompted, listed] = [false, false, false]
  tool('change_tools', () => {
    if (!late) server.tool({ name: 'late_tool', description: 'Late' }, () => say('Late.'))
    late = true
    server.changed('tools')
  })
  tool('change_prompts', () => {
    if (!prompted) server.prompt({ name: 'late_prompt', description: 'Late' }, () => ({ messages: [] }))
    prompted = true
    server.changed('prompts')
  })
  tool('change_resources', () => {
    const late = { name: 'late', description: 'Late', uri: 'fixture://late' }
    if (!listed) server.resource(late, () => ({ contents: [] }))
    listed = true
    server.changed('resources')
  })
  tool('update_watched', () => server.changed('resource', 'fixture://watched'))
}

function defineResources(server: Fixture): void {
  const mimeType = 'text/plain'
  const texts = { text: 'A plain text', watched: 'A text that changes' }
  for (const [name, description] of Object.entries(texts)) {
    const uri = `fixture://${name}`
    server.resource({ name, description, uri, mimeType }, () => ({
      contents: [{ uri, mimeType, text: notes[uri] ?? '' }],
    }))
  }
  const pixel = { name: 'pixel', description: 'A pixel', uri: 'fixture://pixel', mimeType: 'image/png' }
  server.resource(pixel, (uri) => ({ contents: [{ uri, mimeType: 'image/png', blob: png }] }))
  server.resource({ name: 'two', description: 'Two', uri: 'fixture://two' }, () => ({
    contents: [
      { uri: 'fixture://two#1', text: 'one' },
      { uri: 'fixture://two#2', blob: png },
    ],
  }))
  server.template(
    {
      name: 'note',
      description: 'A note',
      uri: 'fixture://notes/{language}/{town}',
      complete: { language: (value) => ({ completion: { values: startingWith(languages, value) } }) },
    },
    (uri, { language, town }) => ({
      contents: [{ uri, text: `${decodeURIComponent(String(town))} in ${language}` }],
    }),
  )
}

function definePrompts(server: Fixture): void {
  const user = (text: string) => ({ role: 'user' as const, content: { type: 'text' as const, text } })
  server.prompt({ name: 'plain', description: 'Plain' }, () => ({ messages: [user('Say something plain.')] }))
  server.prompt(
    {
      name: 'greet',
      description: 'Greets',
      schema: z.object({ language: z.string(), town: z.string().optional() }),
      complete: {
        language: (value) => ({ completion: { values: startingWith(languages, value) } }),
        town: (value, context) => ({
          completion: { values: startingWith(towns[context?.arguments?.['language'] ?? ''] ?? [], value) },
        }),
      },
    },
    ({ language, town = 'somewhere' }) => ({
      messages: [
        user(`Greet in ${language}, ${town}.`),
        { role: 'assistant', content: { type: 'text', text: 'Gladly.' } },
      ],
    }),
  )
  server.prompt({ name: 'picture', description: 'A picture' }, () => ({
    messages: [{ role: 'user', content: image }],
  }))
  server.prompt({ name: 'document', description: 'A document' }, () => ({
    messages: [{ role: 'user', content: embedded }],
  }))
}
