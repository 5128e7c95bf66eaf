import {
  defineServer,
  prompt,
  reply,
  resource,
  type Server,
  ToolError,
  type ToolValue,
  template,
  tool,
} from '@jackfield/sdk'
import { z } from 'zod'
import {
  contents,
  embedded,
  exitSoon,
  failure,
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
import { addUrlElicitation, askingPrompts, askingTools } from './asking.ts'

const still = Object.fromEntries(
  Object.entries(contents).map(([name, { content }]) => [
    name,
    tool({ run: () => reply({ content: [...content] }) }),
  ]),
)

const tools = {
  structured: tool({
    input: z.object({ city: z.string() }),
    output: z.object({ city: z.string(), degrees: z.number(), tags: z.array(z.string()) }),
    run: ({ city }) => ({ ...weather, city }),
  }),
  fails: tool({
    run(): string {
      throw new ToolError(failure)
    },
  }),
  throws: tool({
    run(): string {
      throw new Error('a secret of this process')
    },
  }),
  echo: tool({ input: z.object({ text: z.string() }), run: ({ text }) => text }),
  json: tool({ input: z.object({ value: z.unknown() }), run: ({ value }) => JSON.stringify(value) }),
  add: tool({
    title: 'Sum',
    description: 'Adds two numbers',
    annotations: { readOnlyHint: true, openWorldHint: false },
    input: z.object({ a: z.number(), b: z.number() }),
    run: ({ a, b }) => String(a + b),
  }),
  meta: tool({ run: (_args, ctx) => reply({ content: JSON.stringify(ctx.meta), meta: resultMeta }) }),
  progress: tool({
    input: z.object({ steps: z.number(), tag: z.string() }),
    async run({ steps, tag }, ctx) {
      for (let step = 1; step <= steps; step++) {
        ctx.progress(step, steps, `${tag} ${step}`)
        await later(10)
      }
      return 'Done.'
    },
  }),
  log: tool({
    async run(_args, ctx) {
      for (const { level, data, logger } of logged) ctx.log(level, data, logger)
      await later(10)
      return 'Logged.'
    },
  }),
  wait: tool({
    input: z.object({ key: z.string() }),
    async run({ key }, ctx) {
      await waitFor(key, ctx.signal)
      return 'Stopped.'
    },
  }),
  waits: tool({ input: z.object({ key: z.string() }), run: ({ key }) => stateOf(key) }),
  slow: tool({
    input: z.object({ ms: z.number(), text: z.string() }),
    async run({ ms, text }) {
      await later(ms)
      return text
    },
  }),
  region: tool({
    input: z.object({ region: z.string().meta({ 'x-mcp-header': 'Region' }) }),
    run: ({ region }) => `Region: ${region}`,
  }),
  let_go: tool({
    async run(_args, ctx) {
      ctx.detach()
      await later(50)
      return 'Here it is.'
    },
  }),
  exit: tool({ run: () => exitSoon() }),
}

const resources = {
  text: resource({
    uri: 'fixture://text',
    description: 'A plain text',
    mimeType: 'text/plain',
    read: () => notes['fixture://text'],
  }),
  pixel: resource({ uri: 'fixture://pixel', mimeType: 'image/png', read: () => Buffer.from(png, 'base64') }),
  two: resource({
    uri: 'fixture://two',
    read: () => [
      { uri: 'fixture://two#1', text: 'one' },
      { uri: 'fixture://two#2', blob: png },
    ],
  }),
  watched: resource({ uri: 'fixture://watched', read: () => notes['fixture://watched'] }),
  note: template({
    uriTemplate: 'fixture://notes/{language}/{town}',
    complete: { language: (value) => startingWith(languages, value) },
    read: ({ language, town }) => `${town} in ${language}`,
  }),
}

const prompts = {
  plain: prompt({ run: () => 'Say something plain.' }),
  greet: prompt({
    input: z.object({ language: z.string(), town: z.string().optional() }),
    complete: {
      language: (value) => startingWith(languages, value),
      town: (value, { arguments: chosen }) => startingWith(towns[chosen['language'] ?? ''] ?? [], value),
    },
    run: ({ language, town = 'somewhere' }) => [
      { role: 'user', content: { type: 'text', text: `Greet in ${language}, ${town}.` } },
      { role: 'assistant', content: { type: 'text', text: 'Gladly.' } },
    ],
  }),
  picture: prompt({
    run: () => ({ role: 'user', content: { type: 'image', data: png, mimeType: 'image/png' } }),
  }),
  document: prompt({ run: () => ({ role: 'user', content: embedded }) }),
}

/** The fixture, as this project serves it. */
export function createFixture(): Server {
  const server: Server = defineServer({
    name: 'fixture',
    version: '1.0.0',
    instructions,
    pageSize: 20,
    tools: { ...still, ...tools, ...askingTools },
    resources,
    prompts: { ...prompts, ...askingPrompts },
    onError: () => {},
  })
  const late = tool({ run: () => 'Late.' })
  server.add({
    tools: {
      change_tools: change(() => server.add({ tools: { late_tool: late } })),
      unchange_tools: change(() => server.remove({ tools: ['late_tool'] })),
      change_prompts: change(() => server.add({ prompts: { late_prompt: prompt({ run: () => 'Late.' }) } })),
      change_resources: change(() =>
        server.add({ resources: { late: resource({ uri: 'fixture://late', read: () => 'Late.' }) } }),
      ),
      update_watched: change(() => server.resourceUpdated('fixture://watched')),
    },
  })
  addUrlElicitation(server)
  return server
}

function change(run: () => void): ToolValue {
  return tool({
    run() {
      run()
      return 'Changed.'
    },
  })
}
