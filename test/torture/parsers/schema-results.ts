import type { ProtocolVersion } from '@jackfield/sdk'
import { checkDefinition } from '../../../packages/sdk/test/schema/wire.ts'

const icons = [{ src: 'https://a.example/i.png', mimeType: 'image/png', sizes: ['48x48'] }]
const annotations = { audience: ['user'], priority: 0.5, lastModified: '2026-01-02T03:04:05Z' }
const image = { type: 'image', data: 'eA==', mimeType: 'image/png', annotations }
const text = { type: 'text', text: 'said', annotations, _meta: { a: 1 } }
const file = { uri: 'file:///readme', mimeType: 'text/plain', text: 'said', _meta: { a: 1 } }

/** A block of every kind. */
const blocks: readonly object[] = [
  text,
  image,
  { type: 'audio', data: 'eA==', mimeType: 'audio/wav', annotations },
  { type: 'resource_link', name: 'readme', uri: 'file:///readme', title: 't', description: 'd', size: 1 },
  { type: 'resource', resource: file, annotations },
  { type: 'resource', resource: { uri: 'file:///bytes', blob: 'eA==' } },
]

const named = { title: 't', description: 'd', icons, _meta: { a: 1 } }
const resource = {
  name: 'readme',
  uri: 'file:///readme',
  mimeType: 'text/plain',
  size: 1,
  annotations,
  ...named,
}

const capabilities = {
  tools: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  prompts: { listChanged: true },
  completions: {},
  experimental: { x: { a: 1 } },
}

/** A right result of each method a client asks for, with every member that has a type of its own. */
export function results(revision: ProtocolVersion): Readonly<Record<string, object>> {
  const isModern = revision === '2026-07-28'
  const whole = isModern ? { resultType: 'complete' } : {}
  const cached = isModern ? { ttlMs: 1, cacheScope: 'private' } : {}
  const page = { ...whole, ...cached, nextCursor: 'more', _meta: { a: 1 } }
  const known = blocks.filter((block) =>
    definitionsOf(revision).some((name) => accepts(revision, name, block)),
  )
  return {
    initialize: {
      protocolVersion: revision,
      capabilities: { ...capabilities, logging: {} },
      serverInfo: { name: 'n', version: '1', title: 't', websiteUrl: 'https://a.example/', icons },
      instructions: 'i',
      _meta: { a: 1 },
    },
    'server/discover': {
      ...whole,
      ...cached,
      supportedVersions: [revision],
      capabilities,
      instructions: 'i',
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'n', version: '1', title: 't', icons } },
    },
    ping: { ...whole, _meta: { a: 1 } },
    'tools/list': {
      ...page,
      tools: [
        {
          name: 'add',
          inputSchema: { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
          outputSchema: { type: 'object', properties: { b: { type: 'string' } }, required: ['b'] },
          annotations: { title: 't', readOnlyHint: true, destructiveHint: false, openWorldHint: true },
          ...named,
        },
      ],
    },
    'tools/call': {
      ...whole,
      content: known,
      structuredContent: { b: 'c' },
      isError: false,
      _meta: { a: 1 },
    },
    'resources/list': { ...page, resources: [resource] },
    'resources/templates/list': {
      ...page,
      resourceTemplates: [
        { name: 'files', uriTemplate: 'file:///{path}', mimeType: 'text/plain', annotations, ...named },
      ],
    },
    'resources/read': {
      ...whole,
      ...cached,
      contents: [file, { uri: 'file:///bytes', blob: 'eA==', mimeType: 'a/b' }],
      _meta: { a: 1 },
    },
    'resources/subscribe': { _meta: { a: 1 } },
    'resources/unsubscribe': { _meta: { a: 1 } },
    'prompts/list': {
      ...page,
      prompts: [
        {
          name: 'greet',
          ...named,
          arguments: [{ name: 'who', title: 't', description: 'd', required: true }],
        },
      ],
    },
    'prompts/get': {
      ...whole,
      description: 'd',
      messages: known.map((content) => ({ role: 'user', content })),
      _meta: { a: 1 },
    },
    'completion/complete': {
      ...whole,
      completion: { values: ['a'], total: 1, hasMore: false },
      _meta: { a: 1 },
    },
    'logging/setLevel': { _meta: { a: 1 } },
    'subscriptions/listen': { ...whole, _meta: { 'io.modelcontextprotocol/subscriptionId': 'its own' } },
  }
}

/** The names of the blocks of content in a revision. */
function definitionsOf(revision: ProtocolVersion): string[] {
  const first = ['TextContent', 'ImageContent', 'EmbeddedResource']
  return [
    ...first,
    ...(revision >= '2025-03-26' ? ['AudioContent'] : []),
    ...(revision >= '2025-06-18' ? ['ResourceLink'] : []),
  ]
}

function accepts(revision: ProtocolVersion, name: string, block: object): boolean {
  return checkDefinition(revision, name, block).length === 0
}
