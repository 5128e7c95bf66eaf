import { expect } from 'vitest'
import { nothing, type Offer } from '../suite/offer.ts'

const text = (part: string): object => ({ type: 'text', text: expect.stringContaining(part) })
const dynamic = 'demo://resource/dynamic'
const instructions = 'demo://resource/static/document/instructions.md'

/** `@modelcontextprotocol/server-everything`: its demonstrations with constant results. */
export const everything: Offer = {
  ...nothing,
  name: 'mcp-servers/everything',
  instructions: 'Everything',
  capabilities: ['tools', 'resources', 'prompts', 'completions', 'logging'],
  tools: ['echo', 'get-sum', 'get-tiny-image', 'get-structured-content', 'get-resource-links'],
  ping: true,
  contents: [
    { kind: 'a sum', call: { tool: 'get-sum', args: { a: 2, b: 40 } }, content: [text('is 42')] },
    {
      kind: 'an image between two texts',
      call: { tool: 'get-tiny-image' },
      content: [{ type: 'text' }, { type: 'image', mimeType: 'image/png' }, { type: 'text' }],
    },
    {
      kind: 'links to resources',
      call: { tool: 'get-resource-links', args: { count: 2 } },
      content: [
        text('2 resource links'),
        { type: 'resource_link', uri: `${dynamic}/blob/1` },
        { type: 'resource_link', uri: `${dynamic}/text/2` },
      ],
    },
    {
      kind: 'an embedded text',
      call: { tool: 'get-resource-reference', args: { resourceType: 'Text', resourceId: 3 } },
      content: [
        text('Resource 3'),
        { type: 'resource', resource: { uri: `${dynamic}/text/3` } },
        text(dynamic),
      ],
    },
    {
      kind: 'embedded bytes',
      call: { tool: 'get-resource-reference', args: { resourceType: 'Blob', resourceId: 4 } },
      content: [text('Resource 4'), { resource: { blob: expect.any(String) } }, text(dynamic)],
    },
    {
      kind: 'content with annotations',
      call: { tool: 'get-annotated-message', args: { messageType: 'error' } },
      content: [{ type: 'text', annotations: { priority: 1, audience: ['user', 'assistant'] } }],
    },
    {
      kind: 'an image with annotations',
      call: { tool: 'get-annotated-message', args: { messageType: 'debug', includeImage: true } },
      content: [{ annotations: { priority: 0.3 } }, { type: 'image', annotations: { audience: ['user'] } }],
    },
  ],
  echo: { tool: 'echo', args: (message) => ({ message }), reply: (message) => `Echo: ${message}` },
  described: {
    tool: 'echo',
    title: 'Echo Tool',
    description: 'Echoes back',
    annotations: { readOnlyHint: true, idempotentHint: true },
    required: ['message'],
  },
  structured: {
    call: { tool: 'get-structured-content', args: { location: 'Chicago' } },
    value: { temperature: 36, conditions: 'Light rain / drizzle', humidity: 82 },
    schema: { type: 'object', required: ['temperature', 'conditions', 'humidity'] },
    inText: true,
  },
  throws: {
    call: { tool: 'get-resource-reference', args: { resourceId: -1 } },
    refusal: { as: 'result' },
  },
  unknownTool: { as: 'result' },
  badArguments: {
    calls: [
      { tool: 'get-sum', args: { a: 1, b: 'two' } },
      { tool: 'get-sum', args: {} },
      { tool: 'get-structured-content', args: { location: 'Bergen' } },
      { tool: 'get-resource-links', args: { count: 11 } },
    ],
    refusal: { as: 'result' },
  },
  progress: {
    tool: 'trigger-long-running-operation',
    args: (steps) => ({ steps, duration: steps * 0.02 }),
  },
  resources: {
    uris: [instructions],
    reads: [
      {
        kind: 'a document',
        uri: instructions,
        contents: [
          { uri: instructions, mimeType: 'text/markdown', text: expect.stringContaining('Everything') },
        ],
      },
    ],
    missing: { uri: 'demo://nothing/here', codes: [-32602] },
    shown: { uri: instructions, as: { mimeType: 'text/markdown' } },
  },
  templates: {
    uriTemplate: `${dynamic}/text/{resourceId}`,
    reads: [
      {
        kind: 'a text a template makes',
        uri: `${dynamic}/text/7`,
        contents: [{ uri: `${dynamic}/text/7`, text: expect.stringContaining('Resource 7') }],
      },
      {
        kind: 'bytes a template makes',
        uri: `${dynamic}/blob/8`,
        contents: [{ uri: `${dynamic}/blob/8`, blob: expect.any(String) }],
      },
    ],
  },
  subscribe: { uri: `${dynamic}/text/1`, update: { tool: 'toggle-subscriber-updates' } },
  prompts: {
    names: ['simple-prompt', 'args-prompt', 'completable-prompt', 'resource-prompt'],
    gets: [
      {
        kind: 'without arguments',
        name: 'simple-prompt',
        messages: [{ role: 'user', content: text('simple prompt') }],
      },
      {
        kind: 'with arguments, one left out',
        name: 'args-prompt',
        args: { city: 'Bergen' },
        messages: [{ content: { text: "What's weather in Bergen?" } }],
      },
      {
        kind: 'with all its arguments',
        name: 'args-prompt',
        args: { city: 'Bergen', state: 'Vestland' },
        messages: [{ content: { text: "What's weather in Bergen, Vestland?" } }],
      },
      {
        kind: 'with an embedded resource',
        name: 'resource-prompt',
        args: { resourceType: 'Text', resourceId: '5' },
        messages: [
          { content: text('id: 5') },
          { content: { type: 'resource', resource: { uri: `${dynamic}/text/5` } } },
        ],
      },
    ],
    arguments: {
      name: 'args-prompt',
      as: [
        { name: 'city', required: true },
        { name: 'state', required: false },
      ],
    },
    unknown: [-32602],
    missingArgument: { name: 'args-prompt', codes: [-32602] },
  },
  completions: [
    {
      kind: 'an argument of a prompt',
      ref: { prompt: 'completable-prompt' },
      argument: { name: 'department', value: 'S' },
      values: ['Sales', 'Support'],
    },
    {
      kind: 'an argument nothing fits',
      ref: { prompt: 'completable-prompt' },
      argument: { name: 'department', value: 'xyz' },
      values: [],
    },
    {
      kind: 'an argument by what was chosen before',
      ref: { prompt: 'completable-prompt' },
      argument: { name: 'name', value: '' },
      context: { department: 'Sales' },
      values: ['David', 'Eve', 'Frank'],
    },
    {
      kind: 'a variable of a template',
      ref: { template: `${dynamic}/text/{resourceId}` },
      argument: { name: 'resourceId', value: '12' },
      values: ['12'],
    },
  ],
  form: {
    call: { tool: 'trigger-elicitation-request' },
    accept: { name: 'Ada Løvelace' },
    shows: [{ requestedSchema: { properties: { name: { type: 'string' } }, required: ['name'] } }],
    outcome: (action) => ({
      content: expect.arrayContaining([
        text(action === 'accept' ? 'Ada Løvelace' : action === 'decline' ? 'declined' : 'cancelled'),
      ]),
    }),
  },
  choices: {
    call: { tool: 'trigger-elicitation-request' },
    accept: {
      name: 'Grace',
      check: true,
      email: 'grace@example.org',
      integer: 7,
      untitledSingleSelectEnum: 'Phoebe',
      untitledMultipleSelectEnum: ['Piano', 'Bass'],
    },
    properties: {
      check: { type: 'boolean' },
      email: { type: 'string', format: 'email' },
      integer: { type: 'integer', minimum: 1, maximum: 100 },
      untitledMultipleSelectEnum: { type: 'array', items: { type: 'string' } },
    },
    outcome: { content: expect.arrayContaining([text('"Phoebe"')]) },
  },
  urlElicitation: {
    call: { tool: 'trigger-url-elicitation', args: { url: 'https://example.org/sign-in' } },
    url: 'https://example.org/sign-in',
    outcome: (action) => ({
      content: expect.arrayContaining([
        text(action === 'accept' ? 'completed' : action === 'decline' ? 'declined' : 'cancelled'),
      ]),
    }),
  },
  urlElicitationRequired: {
    call: { tool: 'trigger-url-elicitation', args: { url: 'https://example.org/first', errorPath: true } },
    url: 'https://modelcontextprotocol.io',
  },
  model: {
    call: { tool: 'trigger-sampling-request', args: { prompt: 'Which tea?', maxTokens: 50 } },
    asks: {
      systemPrompt: 'You are a helpful test server.',
      maxTokens: 50,
      messages: [{ content: text('Which tea?') }],
    },
    outcome: (said) => ({ content: [text(said)] }),
  },
  folders: {
    call: { tool: 'get-roots-list' },
    outcome: (uris) => ({
      content: [
        uris.length === 0
          ? text('no roots are currently configured')
          : { type: 'text', text: includingAll(uris) },
      ],
    }),
    follows: true,
  },
  // The tools that ask are there for clients that can be asked only.
  cannotAsk: { call: { tool: 'trigger-elicitation-request' }, refusal: { as: 'result' } },
}

function includingAll(parts: readonly string[]): unknown {
  return expect.stringMatching(new RegExp(parts.map((part) => part.replaceAll(/[.%]/g, '\\$&')).join('[^]*')))
}
