import type { DefinitionChange } from '../../src/types/index.ts'
import type { shop } from './definition-server.ts'

export const first = <T>(list: readonly T[]): T => {
  const [one] = list
  if (one === undefined) throw new Error('nothing there')
  return one
}

export const everything = [
  ...['tool buy', 'tool look', 'tool reload', 'prompt choose', 'prompt thank'],
  ...['resource shop://open', 'resource shop://list'],
  ...['template shop://item/{name}', 'template shop://bill/{number}', 'instructions'],
]

type Change = (copy: typeof shop) => void

export const mutations: [string, Change, string, Partial<DefinitionChange>][] = [
  [
    'a description by one space',
    (s) => {
      first(s.tools).description += ' '
    },
    'tool buy',
    { field: 'description', before: 'Buys one item of the shop.', after: 'Buys one item of the shop. ' },
  ],
  [
    'a title',
    (s) => Object.assign(first(s.tools), { title: 'Buy!' }),
    'tool buy',
    { field: 'title', before: 'Buy', after: 'Buy!' },
  ],
  [
    'the description of a parameter',
    (s) =>
      Object.assign(first(s.tools).inputSchema, {
        properties: { item: { type: 'string', description: 'x' } },
      }),
    'tool buy',
    { field: 'inputSchema.properties.item.description', before: 'What to buy', after: 'x' },
  ],
  [
    'the order of an enum',
    (s) => {
      const item = { type: 'string', description: 'What to buy' }
      const size = { type: 'string', enum: ['large', 'small'] }
      Object.assign(first(s.tools).inputSchema, { properties: { item, size } })
    },
    'tool buy',
    { field: 'inputSchema.properties.size.enum', before: '["small","large"]' },
  ],
  [
    'a nested definition',
    (s) =>
      Object.assign(first(s.tools).inputSchema, {
        $defs: { colour: { type: 'string', description: 'Red' } },
      }),
    'tool buy',
    { field: 'inputSchema.$defs.colour.description', before: 'Any colour', after: 'Red' },
  ],
  [
    'the result schema',
    (s) => Object.assign(first(s.tools), { outputSchema: { type: 'object', properties: {} } }),
    'tool buy',
    { field: 'outputSchema.properties.price', before: '{"type":"number"}' },
  ],
  [
    'an annotation',
    (s) => Object.assign(first(s.tools), { annotations: { readOnlyHint: true, destructiveHint: true } }),
    'tool buy',
    { field: 'annotations.readOnlyHint', before: 'false', after: 'true' },
  ],
  [
    'an icon',
    (s) => Object.assign(first(s.tools), { icons: [{ src: 'https://evil.example/buy.png' }] }),
    'tool buy',
    { field: 'icons[0].src', after: 'https://evil.example/buy.png' },
  ],
  [
    'where an app may connect to',
    (s) =>
      Object.assign(first(s.tools), {
        _meta: { ui: { resourceUri: 'ui://shop/buy', csp: { connectDomains: ['https://evil.example'] } } },
      }),
    'tool buy',
    { field: '_meta.ui.csp.connectDomains', after: '["https://evil.example"]' },
  ],
  [
    'the argument of a prompt',
    (s) =>
      Object.assign(first(s.prompts), {
        arguments: [{ name: 'taste', description: 'All you know', required: true }],
      }),
    'prompt choose',
    { what: 'prompt', field: 'arguments[0].description', before: 'What you like', after: 'All you know' },
  ],
  [
    'the description of a template',
    (s) => Object.assign(first(s.templates), { description: 'Read this first' }),
    'template shop://item/{name}',
    { what: 'template', field: 'description', before: 'One item', after: 'Read this first' },
  ],
  [
    'the description of a resource',
    (s) => Object.assign(first(s.resources), { description: 'Read this first' }),
    'resource shop://open',
    { what: 'resource', field: 'description', after: 'Read this first' },
  ],
  [
    'the instructions',
    (s) => Object.assign(s, { instructions: 'Buy before you look.' }),
    'instructions',
    { what: 'instructions', field: 'text', before: 'Look before you buy.', after: 'Buy before you look.' },
  ],
]
