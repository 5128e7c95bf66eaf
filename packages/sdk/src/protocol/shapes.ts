import { isObject } from '../jsonrpc/parse.ts'

/** Hears of a member that was taken out; some write null for what they do not have. */
export type Left = (name: string, value: unknown) => void

/** Whether a value is what it must be. What is wrong in it and can be missed is taken out of it, and `left` is told. */
export type Shape = (value: unknown, left: Left) => boolean

type Members = Readonly<Record<string, Shape>>

export const text: Shape = (value) => typeof value === 'string'
export const flag: Shape = (value) => typeof value === 'boolean'
export const number: Shape = (value) => typeof value === 'number'
/** A whole number that counts something. */
export const whole: Shape = (value) => Number.isInteger(value)
export const object: Shape = (value) => isObject(value)

export const anything: Shape = () => true

/** What is right for two shapes. */
export function both(first: Shape, second: Shape): Shape {
  return (value, left) => first(value, left) && second(value, left)
}

/** One of a few texts. */
export function oneOf(...known: readonly string[]): Shape {
  return (value) => typeof value === 'string' && known.includes(value)
}

/** A number in a range, both ends in it. */
export function between(least: number, most: number): Shape {
  return (value) => typeof value === 'number' && value >= least && value <= most
}

/** A list whose entries are all right. */
export function listOf(entry: Shape): Shape {
  return (value, left) => Array.isArray(value) && value.every((one) => entry(one, left))
}

/** An object that has the first members, and the second ones or not. Members that nobody knows stay as they are. */
export function shape(must: Members, may: Members = {}): Shape {
  const required = Object.entries(must)
  const optional = Object.entries(may)
  return (value, left) => {
    if (!isObject(value)) return false
    for (const [name, check] of required) if (!check(value[name], left)) return false
    for (const [name, check] of optional) {
      const member = value[name]
      if (member === undefined || check(member, left)) continue
      delete value[name]
      left(name, member)
    }
    return true
  }
}

/** Who says something. */
export const role: Shape = oneOf('user', 'assistant')
const annotations = shape({}, { audience: listOf(role), priority: between(0, 1), lastModified: text })
const icon = shape({}, { mimeType: text, sizes: listOf(text), theme: text })
/** Which icons can be shown is decided one by one, and of what is no list none can. */
export const icons: Shape = (value, left) => {
  if (Array.isArray(value)) for (const one of value) icon(one, left)
  else left('icons', value)
  return true
}

/** What everything may have. */
export const bare: Readonly<Record<string, Shape>> = { _meta: object }

/** What everything that is shown may have. */
export const named: Readonly<Record<string, Shape>> = { title: text, description: text, icons, ...bare }

/** A tool of a list. */
export const tool: Shape = shape(
  { name: text },
  {
    ...named,
    annotations: shape(
      {},
      {
        title: text,
        readOnlyHint: flag,
        destructiveHint: flag,
        idempotentHint: flag,
        openWorldHint: flag,
      },
    ),
  },
)

/** A resource of a list, or a link to one. */
export const resource: Shape = shape(
  { uri: text, name: text },
  { ...named, mimeType: text, size: number, annotations },
)

/** A template of a list. */
export const template: Shape = shape(
  { uriTemplate: text, name: text },
  { ...named, mimeType: text, annotations },
)
const file = shape({ uri: text }, { ...bare, mimeType: text, text, blob: text })

/** What a resource holds. */
export const contents: Shape = (value, left) =>
  file(value, left) && isObject(value) && (value['text'] !== undefined || value['blob'] !== undefined)

const spoken = { ...bare, annotations }
const said = shape({ text }, spoken)
const media = shape({ data: text, mimeType: text }, spoken)
const blocks: Readonly<Record<string, Shape>> = {
  text: said,
  image: media,
  audio: media,
  resource_link: resource,
  resource: shape({ resource: contents }, spoken),
}

/** A block of a kind that nobody knows yet is handed on as it is. */
export const block: Shape = (value, left) => {
  if (!isObject(value) || typeof value['type'] !== 'string') return false
  return !Object.hasOwn(blocks, value['type']) || blocks[value['type']]?.(value, left) === true
}

/** A message of a prompt. */
export const message: Shape = shape({ role, content: block })

const used = shape({ id: text, name: text, input: object }, bare)
const answered = shape(
  { toolUseId: text, content: listOf(block) },
  { ...bare, structuredContent: anything, isError: flag },
)
const parts: Readonly<Record<string, Shape>> = {
  text: said,
  image: media,
  audio: media,
  tool_use: used,
  tool_result: answered,
}
const one: Shape = (value, left) => {
  if (!isObject(value) || typeof value['type'] !== 'string') return false
  return Object.hasOwn(parts, value['type']) && parts[value['type']]?.(value, left) === true
}
/** What a model said, or was told: a block or several. */
const spokenContent: Shape = (value, left) =>
  Array.isArray(value) ? value.every((part) => one(part, left)) : one(value, left)

/** What a server asks a client's model. */
export const sampling: Shape = shape(
  { messages: listOf(shape({ role, content: spokenContent }, bare)), maxTokens: number },
  {
    ...bare,
    modelPreferences: shape(
      {},
      {
        hints: listOf(shape({}, { name: text })),
        costPriority: between(0, 1),
        speedPriority: between(0, 1),
        intelligencePriority: between(0, 1),
      },
    ),
    systemPrompt: text,
    includeContext: oneOf('none', 'thisServer', 'allServers'),
    temperature: number,
    stopSequences: listOf(text),
    metadata: object,
    tools: listOf(both(tool, shape({ inputSchema: shape({ type: oneOf('object') }) }))),
    toolChoice: shape({}, { mode: oneOf('auto', 'required', 'none') }),
  },
)

/** What a client's model said. */
export const sampled: Shape = shape(
  { role, model: text, content: spokenContent },
  { ...bare, stopReason: text },
)

/** A folder of a client. */
export const root: Shape = shape({ uri: text }, { ...bare, name: text })
