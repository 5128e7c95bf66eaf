import { isObject } from '../jsonrpc/parse.ts'

/** Called for each invalid member that was removed; some servers send null for absent members. */
export type OnOmitted = (name: string, value: unknown) => void

/** Whether a value has a shape. Invalid optional members are removed from it and passed to `onOmitted`. */
export type Shape = (value: unknown, onOmitted: OnOmitted) => boolean

type Members = Readonly<Record<string, Shape>>

export const string: Shape = (value) => typeof value === 'string'
export const boolean: Shape = (value) => typeof value === 'boolean'
export const number: Shape = (value) => typeof value === 'number'
/** An integer. */
export const integer: Shape = (value) => Number.isInteger(value)
export const object: Shape = (value) => isObject(value)

const anyValue: Shape = () => true

/** Matches both shapes. */
function both(first: Shape, second: Shape): Shape {
  return (value, onOmitted) => first(value, onOmitted) && second(value, onOmitted)
}

export function oneOf(...known: readonly string[]): Shape {
  return (value) => typeof value === 'string' && known.includes(value)
}

/** A number in an inclusive range. */
function between(min: number, max: number): Shape {
  return (value) => typeof value === 'number' && value >= min && value <= max
}

export function listOf(entry: Shape): Shape {
  return (value, onOmitted) => Array.isArray(value) && value.every((one) => entry(one, onOmitted))
}

/** An object with required and optional members. Unknown members are kept. */
export function shape(must: Members, may: Members = {}): Shape {
  const required = Object.entries(must)
  const optional = Object.entries(may)
  return (value, onOmitted) => {
    if (!isObject(value)) return false
    for (const [name, check] of required) if (!check(value[name], onOmitted)) return false
    for (const [name, check] of optional) {
      const member = value[name]
      if (member === undefined || check(member, onOmitted)) continue
      delete value[name]
      onOmitted(name, member)
    }
    return true
  }
}

const role: Shape = oneOf('user', 'assistant')
const annotations = shape({}, { audience: listOf(role), priority: between(0, 1), lastModified: string })
const icon = shape({}, { mimeType: string, sizes: listOf(string), theme: string })
/** Icons are filtered individually later; a value that is not a list is removed. */
export const icons: Shape = (value, onOmitted) => {
  if (Array.isArray(value)) for (const one of value) icon(one, onOmitted)
  else onOmitted('icons', value)
  return true
}

/** The optional member of every object. */
export const metaMember: Readonly<Record<string, Shape>> = { _meta: object }

/** The optional members of every displayed object. */
export const displayMembers: Readonly<Record<string, Shape>> = {
  title: string,
  description: string,
  icons,
  ...metaMember,
}

/** A tool in a list. */
export const tool: Shape = shape(
  { name: string },
  {
    ...displayMembers,
    annotations: shape(
      {},
      {
        title: string,
        readOnlyHint: boolean,
        destructiveHint: boolean,
        idempotentHint: boolean,
        openWorldHint: boolean,
      },
    ),
  },
)

/** A resource in a list, or a link to one. */
export const resource: Shape = shape(
  { uri: string, name: string },
  { ...displayMembers, mimeType: string, size: number, annotations },
)

/** A resource template in a list. */
export const template: Shape = shape(
  { uriTemplate: string, name: string },
  { ...displayMembers, mimeType: string, annotations },
)
const file = shape({ uri: string }, { ...metaMember, mimeType: string, text: string, blob: string })

/** A resource's contents. */
export const contents: Shape = (value, onOmitted) =>
  file(value, onOmitted) && isObject(value) && (value['text'] !== undefined || value['blob'] !== undefined)

const annotatedMembers = { ...metaMember, annotations }
const textBlock = shape({ text: string }, annotatedMembers)
const media = shape({ data: string, mimeType: string }, annotatedMembers)
const blocks: Readonly<Record<string, Shape>> = {
  text: textBlock,
  image: media,
  audio: media,
  resource_link: resource,
  resource: shape({ resource: contents }, annotatedMembers),
}

/** A content block of a type in a table; blocks of other types match if `passesOthers`. */
function blockOf(types: Readonly<Record<string, Shape>>, passesOthers: boolean): Shape {
  return (value, onOmitted) => {
    if (!isObject(value) || typeof value['type'] !== 'string') return false
    return Object.hasOwn(types, value['type'])
      ? types[value['type']]?.(value, onOmitted) === true
      : passesOthers
  }
}

/** A content block. Blocks of unknown types are passed on. */
export const block: Shape = blockOf(blocks, true)

/** A message of a prompt. */
export const message: Shape = shape({ role, content: block })

const toolUse = shape({ id: string, name: string, input: object }, metaMember)
const toolResult = shape(
  { toolUseId: string, content: listOf(block) },
  { ...metaMember, structuredContent: anyValue, isError: boolean },
)
const samplingBlock = blockOf(
  { text: textBlock, image: media, audio: media, tool_use: toolUse, tool_result: toolResult },
  false,
)
/** The content of a sampling message: a block or several. */
const samplingContent: Shape = (value, onOmitted) =>
  Array.isArray(value)
    ? value.every((part) => samplingBlock(part, onOmitted))
    : samplingBlock(value, onOmitted)

export const samplingParams: Shape = shape(
  { messages: listOf(shape({ role, content: samplingContent }, metaMember)), maxTokens: number },
  {
    ...metaMember,
    modelPreferences: shape(
      {},
      {
        hints: listOf(shape({}, { name: string })),
        costPriority: between(0, 1),
        speedPriority: between(0, 1),
        intelligencePriority: between(0, 1),
      },
    ),
    systemPrompt: string,
    includeContext: oneOf('none', 'thisServer', 'allServers'),
    temperature: number,
    stopSequences: listOf(string),
    metadata: object,
    tools: listOf(both(tool, shape({ inputSchema: shape({ type: oneOf('object') }) }))),
    toolChoice: shape({}, { mode: oneOf('auto', 'required', 'none') }),
  },
)

export const samplingResult: Shape = shape(
  { role, model: string, content: samplingContent },
  { ...metaMember, stopReason: string },
)

export const root: Shape = shape({ uri: string }, { ...metaMember, name: string })
