import { cacheJson, hasCachedJson } from '../jsonrpc/cached-json.ts'
import { describeValue, ErrorCode } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import { latestSessionVersion, type ProtocolVersion } from './methods.ts'
import { codesOf2026, type Revision, stateless, supports, withCode } from './revision.ts'
import type { Question } from './server-requests.ts'

/** Members that a later revision added, with that revision. */
const since = {
  implementation: {
    title: '2025-06-18',
    description: '2025-11-25',
    websiteUrl: '2025-11-25',
    icons: '2025-11-25',
  },
  tool: {
    annotations: '2025-03-26',
    title: '2025-06-18',
    outputSchema: '2025-06-18',
    _meta: '2025-06-18',
    icons: '2025-11-25',
  },
  resource: { title: '2025-06-18', _meta: '2025-06-18', icons: '2025-11-25' },
  template: { title: '2025-06-18', _meta: '2025-06-18', icons: '2025-11-25' },
  prompt: { title: '2025-06-18', _meta: '2025-06-18', icons: '2025-11-25' },
  promptArgument: { title: '2025-06-18' },
  content: { title: '2025-06-18', _meta: '2025-06-18', icons: '2025-11-25' },
  annotations: { lastModified: '2025-06-18' },
  contents: { _meta: '2025-06-18' },
  progress: { message: '2025-03-26', _meta: '2025-11-25' },
  sampling: { tools: '2025-11-25', toolChoice: '2025-11-25', _meta: '2025-11-25' },
  root: { _meta: '2025-06-18' },
  serverCapabilities: { completions: '2025-03-26' },
} satisfies Readonly<Record<string, Readonly<Record<string, ProtocolVersion>>>>

/** An object of the protocol with members that later revisions added. */
type ProtocolObject = keyof typeof since

/** Removes the members a revision does not have; returns the object itself if there are none. */
type Trim = (shape: ProtocolObject, value: Record<string, unknown>) => Record<string, unknown>

function trimmer(version: ProtocolVersion): Trim {
  const unknown = new Map<string, ReadonlySet<string>>()
  for (const [shape, members] of Object.entries(since)) {
    const later = Object.entries(members).filter(([, first]) => first > version)
    unknown.set(shape, new Set(later.map(([name]) => name)))
  }
  return (shape, value) => {
    const later = unknown.get(shape)
    if (later === undefined || later.size === 0) return value
    return Object.fromEntries(Object.entries(value).filter(([name]) => !later.has(name)))
  }
}

/** A revision whose requests belong to sessions. */
function sessionRevision(version: ProtocolVersion): Revision {
  const trim = trimmer(version)
  const encoders = resultEncoders(version, trim)
  const unknownCodes = supports(version, 'urlElicitation') ? codesOf2026 : codesSince2025
  return {
    version,
    era: 'session',
    batches: supports(version, 'batches'),
    result(method, result) {
      const { ttlMs: _ttlMs, cacheScope: _cacheScope, ...known } = result
      return encoders[method]?.(known) ?? known
    },
    inputRequired() {
      throw new TypeError(
        `Revision ${version} has no input_required result: it requests input by server requests`,
      )
    },
    extended: (_resultType, result) => result,
    error: (error) =>
      unknownCodes.has(error.code) ? withCode(error, ErrorCode.InvalidRequest) : error.toObject(),
    notification({ method, params }) {
      switch (method) {
        case 'notifications/subscriptions/acknowledged':
          return undefined
        case 'notifications/elicitation/complete':
          return supports(version, 'elicitationIds') ? { method, params } : undefined
        case 'notifications/progress':
          return { method, params: trim('progress', { ...params }) }
        default:
          return { method, params }
      }
    },
    question: (question) => sessionQuestion(question, version, trim),
  }
}

const codesSince2025: ReadonlySet<number> = new Set([...codesOf2026, ErrorCode.UrlElicitationRequired])

type Encode = (result: JsonObject) => JsonObject
type EncodeItem = (item: Record<string, unknown>) => unknown

function resultEncoders(version: ProtocolVersion, trim: Trim): Readonly<Record<string, Encode>> {
  const content = contentEncoder(version, trim)
  return {
    initialize: (result) => ({
      ...result,
      capabilities: isObject(result['capabilities'])
        ? trim('serverCapabilities', result['capabilities'])
        : {},
      serverInfo: isObject(result['serverInfo']) ? trim('implementation', result['serverInfo']) : {},
    }),
    'tools/list': listEncoder('tools', (item) => sessionTool(trim('tool', item))),
    'resources/list': listEncoder('resources', (item) => withAnnotations(trim('resource', item), trim)),
    'resources/templates/list': listEncoder('resourceTemplates', (item) =>
      withAnnotations(trim('template', item), trim),
    ),
    'resources/read': (result) => ({
      ...result,
      contents: mapItems(result['contents'], (item) => trim('contents', item)),
    }),
    'prompts/list': listEncoder('prompts', (item) => {
      const prompt = trim('prompt', item)
      return prompt['arguments'] === undefined
        ? prompt
        : {
            ...prompt,
            arguments: mapItems(prompt['arguments'], (argument) => trim('promptArgument', argument)),
          }
    }),
    'prompts/get': (result) => ({
      ...result,
      messages: mapItems(result['messages'], (message) =>
        isObject(message['content']) && content !== undefined
          ? { ...message, content: content(message['content']) }
          : message,
      ),
    }),
    'tools/call': (result) => {
      const { structuredContent, ...rest } = result
      const wire: JsonObject = { ...rest, content: mapItems(result['content'], content) }
      if (isObject(structuredContent) && supports(version, 'structuredContent'))
        wire['structuredContent'] = structuredContent
      return wire
    },
  }
}

/** Encodes the entries of a list; the result is cached for lists that do not change. */
function listEncoder(name: string, encode: EncodeItem): Encode {
  const encoded = new WeakMap<readonly unknown[], readonly unknown[]>()
  return (result) => {
    const list = result[name]
    if (!Array.isArray(list)) return result
    const known = encoded.get(list)
    if (known !== undefined) return { ...result, [name]: known }
    const items = list.map((item) => (isObject(item) ? encode(item) : item))
    if (hasCachedJson(list)) encoded.set(list, cacheJson(items))
    return { ...result, [name]: items }
  }
}

function mapItems(value: unknown, encode: EncodeItem | undefined): unknown {
  return Array.isArray(value) && encode !== undefined
    ? value.map((item) => (isObject(item) ? encode(item) : item))
    : value
}

/** Before 2026-07-28 an output schema must describe an object; others are left out, with their content. */
function sessionTool(tool: Record<string, unknown>): Record<string, unknown> {
  const { outputSchema, ...rest } = tool
  return isObject(outputSchema) && outputSchema['type'] === 'object' ? { ...rest, outputSchema } : rest
}

function withAnnotations(value: Record<string, unknown>, trim: Trim): Record<string, unknown> {
  const { annotations } = value
  return isObject(annotations) ? { ...value, annotations: trim('annotations', annotations) } : value
}

/** Replaces content of types a revision does not have with text. Undefined since 2025-11-25, which has all types and members. */
function contentEncoder(version: ProtocolVersion, trim: Trim): EncodeItem | undefined {
  if (version >= latestSessionVersion) return undefined
  return (block) => {
    if (block['type'] === 'audio' && version < '2025-03-26') {
      return { type: 'text', text: `[audio, ${describeValue(block['mimeType'])}]` }
    }
    if (block['type'] === 'resource_link' && version < '2025-06-18') {
      return { type: 'text', text: `${describeValue(block['name'])}: ${describeValue(block['uri'])}` }
    }
    const known = withAnnotations(trim('content', block), trim)
    return block['type'] === 'resource' && isObject(block['resource'])
      ? { ...known, resource: trim('contents', block['resource']) }
      : known
  }
}

function sessionQuestion(question: Question, version: ProtocolVersion, trim: Trim): JsonObject {
  switch (question.method) {
    case 'elicitation/create': {
      const { params } = question
      if (params.mode === 'url')
        return { ...params, elicitationId: params.elicitationId ?? crypto.randomUUID() }
      if (supports(version, 'urlElicitation')) return { ...params }
      const { mode: _mode, ...form } = params
      return { ...form, requestedSchema: plainForm(form.requestedSchema) }
    }
    case 'sampling/createMessage': {
      const params = trim('sampling', { ...question.params })
      return supports(version, 'samplingTools')
        ? params
        : { ...params, messages: question.params.messages.flatMap(splitBlocks) }
    }
    case 'roots/list':
      return { ...question.params }
  }
}

/** The form on 2025-06-18: titled choices as `enum` with `enumNames`. */
function plainForm(schema: { properties: Record<string, object> }): JsonObject {
  const properties = Object.entries(schema.properties).map(([name, field]): [string, object] => {
    if (!('oneOf' in field) || !Array.isArray(field.oneOf)) return [name, field]
    const { oneOf, ...rest } = field
    return [
      name,
      { ...rest, enum: oneOf.map((choice) => choice.const), enumNames: oneOf.map((choice) => choice.title) },
    ]
  })
  return { ...schema, properties: Object.fromEntries(properties) }
}

function splitBlocks(message: { role: string; content: unknown }): { role: string; content: unknown }[] {
  const blocks = Array.isArray(message.content) ? message.content : [message.content]
  return blocks.map((content) => ({ role: message.role, content }))
}

/** Every published revision, by version. */
export const revisions: Readonly<Record<ProtocolVersion, Revision>> = {
  '2024-11-05': sessionRevision('2024-11-05'),
  '2025-03-26': sessionRevision('2025-03-26'),
  '2025-06-18': sessionRevision('2025-06-18'),
  '2025-11-25': sessionRevision('2025-11-25'),
  '2026-07-28': stateless,
}

const byVersion: ReadonlyMap<string, Revision> = new Map(Object.entries(revisions))

/** The revision of a version string, or undefined if it was never published. */
export function revisionOf(version: string): Revision | undefined {
  return byVersion.get(version)
}
