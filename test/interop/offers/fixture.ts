import {
  choicesForm,
  contents,
  failure,
  instructions,
  logged,
  nameForm,
  notes,
  png,
  resultMeta,
  signInUrl,
  weather,
} from '../peers/contract.ts'
import { nothing, type Offer } from '../suite/offer.ts'

const since: Partial<Record<string, '2025-03-26' | '2025-06-18'>> = {
  audio: '2025-03-26',
  link: '2025-06-18',
}

const json = (value: object): object => ({ content: [{ type: 'text', text: JSON.stringify(value) }] })
const text = (value: string): object => ({ content: [{ type: 'text', text: value }] })

const tea = {
  name: 'Grace',
  email: 'grace@example.org',
  cups: 3,
  strength: 1,
  milk: false,
  tea: 'green',
  leaf: 'd',
  with: ['lemon', 'honey'],
  biscuits: ['g'],
}

/** What every fixture server in `peers/` would offer if its maker had all of it. */
export const fixture = {
  ...nothing,
  name: 'fixture',
  instructions,
  capabilities: ['tools', 'resources', 'prompts', 'completions', 'logging'],
  tools: ['text', 'structured', 'fails', 'throws', 'echo', 'json', 'add', 'progress', 'wait', 'slow'],
  ping: true,
  contents: Object.entries(contents).map(([tool, { kind, content }]) => ({
    kind,
    call: { tool },
    content,
    ...(since[tool] && { since: since[tool] }),
  })),
  echo: { tool: 'echo', args: (said: string) => ({ text: said }), reply: (said: string) => said },
  json: { tool: 'json' },
  described: {
    tool: 'add',
    title: 'Sum',
    description: 'Adds two numbers',
    annotations: { readOnlyHint: true, openWorldHint: false },
    required: ['a', 'b'],
  },
  structured: {
    call: { tool: 'structured', args: { city: weather.city } },
    value: weather,
    schema: { type: 'object', required: ['city', 'degrees', 'tags'] },
    inText: true,
  },
  fails: { call: { tool: 'fails' }, text: failure },
  throws: { call: { tool: 'throws' }, refusal: { as: 'result' } },
  unknownTool: { as: 'error', code: -32602 },
  badArguments: {
    calls: [
      { tool: 'add', args: { a: 1, b: 'two' } },
      { tool: 'add', args: { a: 1 } },
      { tool: 'add', args: {} },
      { tool: 'add' },
    ],
    refusal: { as: 'result' },
  },
  meta: { call: { tool: 'meta' }, sends: resultMeta },
  progress: {
    tool: 'progress',
    args: (steps: number, tag: string) => ({ steps, tag }),
    message: (tag: string, step: number) => `${tag} ${step}`,
  },
  log: { call: { tool: 'log' }, entries: logged, filters: true },
  wait: { tool: 'wait', stateTool: 'waits', stops: true },
  slow: { tool: 'slow' },
  mirrored: { tool: 'region', reply: (region: string) => `Region: ${region}` },
  resources: {
    uris: ['fixture://text', 'fixture://pixel', 'fixture://two', 'fixture://watched'],
    reads: [
      {
        kind: 'a text',
        uri: 'fixture://text',
        contents: [{ uri: 'fixture://text', mimeType: 'text/plain', text: notes['fixture://text'] }],
      },
      {
        kind: 'bytes',
        uri: 'fixture://pixel',
        contents: [{ uri: 'fixture://pixel', mimeType: 'image/png', blob: png }],
      },
      {
        kind: 'a resource of two parts',
        uri: 'fixture://two',
        contents: [{ text: 'one' }, { blob: png }],
      },
    ],
    missing: { uri: 'fixture://nothing-here', codes: [-32602, -32002] },
    shown: {
      uri: 'fixture://text',
      as: { name: 'text', description: 'A plain text', mimeType: 'text/plain' },
    },
  },
  templates: {
    uriTemplate: 'fixture://notes/{language}/{town}',
    reads: [
      {
        kind: 'what a template makes',
        uri: 'fixture://notes/Norsk/Bergen',
        contents: [{ uri: 'fixture://notes/Norsk/Bergen', text: 'Bergen in Norsk' }],
      },
      {
        kind: 'what a template makes of encoded letters',
        uri: 'fixture://notes/Norsk/Bod%C3%B8',
        contents: [{ uri: 'fixture://notes/Norsk/Bod%C3%B8', text: 'Bodø in Norsk' }],
      },
    ],
  },
  subscribe: { uri: 'fixture://watched', update: { tool: 'update_watched' } },
  prompts: {
    names: ['plain', 'greet', 'picture', 'document'],
    gets: [
      {
        kind: 'without arguments',
        name: 'plain',
        messages: [{ role: 'user', content: { type: 'text', text: 'Say something plain.' } }],
      },
      {
        kind: 'with arguments, one left out',
        name: 'greet',
        args: { language: 'Norsk' },
        messages: [
          { role: 'user', content: { type: 'text', text: 'Greet in Norsk, somewhere.' } },
          { role: 'assistant', content: { type: 'text', text: 'Gladly.' } },
        ],
      },
      {
        kind: 'with all its arguments',
        name: 'greet',
        args: { language: 'Norsk', town: 'Bodø' },
        messages: [{ content: { text: 'Greet in Norsk, Bodø.' } }, { role: 'assistant' }],
      },
      {
        kind: 'with an image',
        name: 'picture',
        messages: [{ role: 'user', content: { type: 'image', data: png, mimeType: 'image/png' } }],
      },
      {
        kind: 'with an embedded resource',
        name: 'document',
        messages: [{ role: 'user', content: { type: 'resource', resource: { uri: 'fixture://inside' } } }],
      },
    ],
    arguments: {
      name: 'greet',
      as: [{ name: 'language', required: true }, { name: 'town' }],
    },
    unknown: [-32602],
    missingArgument: { name: 'greet', codes: [-32602] },
  },
  completions: [
    {
      kind: 'an argument of a prompt',
      ref: { prompt: 'greet' },
      argument: { name: 'language', value: 'e' },
      values: ['English', 'Esperanto'],
    },
    {
      kind: 'an argument nothing fits',
      ref: { prompt: 'greet' },
      argument: { name: 'language', value: 'xyz' },
      values: [],
    },
    {
      kind: 'an argument by what was chosen before',
      since: '2025-06-18',
      ref: { prompt: 'greet' },
      argument: { name: 'town', value: 'b' },
      context: { language: 'Norsk' },
      values: ['Bergen', 'Bodø'],
    },
    {
      kind: 'a variable of a template',
      ref: { template: 'fixture://notes/{language}/{town}' },
      argument: { name: 'language', value: 'N' },
      values: ['Norsk'],
    },
  ],
  pages: { method: 'tools/list', refusesBadCursor: true },
  changes: {
    tools: { call: { tool: 'change_tools' }, name: 'late_tool', undo: { tool: 'unchange_tools' } },
    prompts: { call: { tool: 'change_prompts' }, name: 'late_prompt' },
    resources: { call: { tool: 'change_resources' }, uri: 'fixture://late' },
  },
  form: {
    call: { tool: 'ask' },
    accept: { name: 'Ada Løvelace' },
    shows: [{ message: 'What is your name?', requestedSchema: nameForm }],
    outcome: (action: string) =>
      action === 'accept' ? json({ action, content: { name: 'Ada Løvelace' } }) : json({ action }),
  },
  choices: {
    call: { tool: 'ask_choices' },
    accept: tea,
    properties: choicesForm.properties,
    outcome: json({ action: 'accept', content: tea }),
  },
  explicit: { call: { tool: 'ask_explicit' }, accept: { name: 'Ada' }, text: 'Ada, three cups' },
  twice: { call: { tool: 'ask_twice' } },
  together: { call: { tool: 'ask_together' } },
  urlElicitation: {
    call: { tool: 'ask_url' },
    url: signInUrl,
    outcome: (action: string) => json({ action }),
  },
  urlElicitationRequired: { call: { tool: 'url_required' }, url: signInUrl },
  urlElicitationComplete: { call: { tool: 'url_complete' } },
  model: {
    call: { tool: 'sample' },
    asks: {
      messages: [{ role: 'user', content: { type: 'text', text: 'Which tea?' } }],
      systemPrompt: 'You are a teapot.',
      maxTokens: 50,
    },
    outcome: (reply: string) => text(`m1: ${reply}`),
  },
  modelTools: {
    call: { tool: 'sample_tools' },
    tools: ['brew'],
    outcome: text('toolUse: brew {"cups":2}'),
  },
  folders: { call: { tool: 'folders' }, outcome: (uris: readonly string[]) => text(JSON.stringify(uris)) },
  cannotAsk: { call: { tool: 'ask' }, refusal: { as: 'result' } },
  promptAsks: {
    name: 'asks',
    accept: { name: 'Ada' },
    outcome: { role: 'user', content: { type: 'text', text: 'Greet Ada.' } },
  },
  forgetSessions: { tool: 'forget_sessions' },
  letGo: { call: { tool: 'let_go' }, text: 'Here it is.' },
  exit: { tool: 'exit' },
} satisfies Offer

type Part = keyof typeof fixture

/** The fixture's offer without what a peer lacks. */
export function fixtureWithout(lacks: readonly Part[], others: Partial<Offer> = {}): Offer {
  const left: Offer = { ...fixture }
  for (const part of lacks) Reflect.deleteProperty(left, part)
  return { ...left, ...others }
}
