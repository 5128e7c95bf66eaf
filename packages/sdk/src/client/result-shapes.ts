import { McpError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import { withSafeIcons } from '../protocol/content.ts'
import type { ClientMethod, ClientRequests } from '../protocol/methods.ts'
import {
  block,
  contents,
  displayMembers,
  flag,
  icons,
  listOf,
  message,
  metaMember,
  number,
  type OnOmitted,
  resource,
  type Shape,
  shape,
  template,
  text,
  tool,
} from '../protocol/shapes.ts'

interface Told {
  left: OnOmitted
  warn(text: string): void
}

/** Looks at what a method's result has of its own; gives what is wrong where it cannot be used. */
type Fault = (result: JsonObject, told: Told) => string | undefined

const argument = shape({ name: text }, { title: text, description: text, required: flag })
const prompt = shape({ name: text }, { ...displayMembers, arguments: listOf(argument) })

const completion = shape({ values: listOf(text) }, { total: number, hasMore: flag })

const entries =
  (member: string, entry: Shape, what: string): Fault =>
  (result, { left, warn }) => {
    const { [member]: all, nextCursor } = result
    if (!Array.isArray(all)) return `"${member}" must be a list`
    // Without it the rest of the list would be missing, and nobody would know.
    if (nextCursor === null) delete result['nextCursor']
    else if (nextCursor !== undefined && typeof nextCursor !== 'string') return '"nextCursor" must be a text'
    const good = all.filter((one): one is JsonObject => entry(one, left))
    if (good.length < all.length) {
      warn(`Left out ${all.length - good.length} of the "${member}" because they have no ${what}`)
    }
    let unsafe = 0
    const shown = good.map((one) => withSafeIcons(one, (count) => (unsafe += count)))
    if (unsafe > 0) warn(`Left out ${unsafe} icons of the "${member}" that are neither https: nor data:`)
    result[member] = shown
    return undefined
  }

const called: Fault = (result, { left }) => {
  // A result with structured content alone is common, and complete enough to use.
  if (result['content'] === undefined) result['content'] = []
  const { content, isError } = result
  if (!Array.isArray(content)) return '"content" must be a list of content blocks'
  const wrong = content.findIndex((one) => !block(one, left))
  if (wrong !== -1) return `"content" must be a list of content blocks, and number ${wrong + 1} is none`
  // What failed must not be taken for what went well.
  if (isError !== undefined && isError !== null && typeof isError !== 'boolean')
    return '"isError" must be true or false'
  if (isError === null) delete result['isError']
  result['content'] = content.map((one) => withSafeIcons(one))
  return undefined
}

const nothing: Fault = () => undefined

const faults: Readonly<Record<ClientMethod, Fault>> = {
  initialize: nothing,
  ping: nothing,
  'server/discover': nothing,
  'tools/list': (result, told) => {
    const fault = entries('tools', tool, '"name"')(result, told)
    if (fault !== undefined || !Array.isArray(result['tools'])) return fault
    for (const one of result['tools'])
      if (!isObject(one['inputSchema'])) one['inputSchema'] = { type: 'object' }
    return undefined
  },
  'tools/call': called,
  'resources/list': entries('resources', resource, '"uri" or no "name"'),
  'resources/templates/list': entries('resourceTemplates', template, '"uriTemplate" or no "name"'),
  'resources/read': entries('contents', contents, '"uri", or neither "text" nor "blob"'),
  'resources/subscribe': nothing,
  'resources/unsubscribe': nothing,
  'subscriptions/listen': nothing,
  'prompts/list': entries('prompts', prompt, '"name"'),
  'prompts/get': (result, { left }) => {
    const { messages } = result
    if (!Array.isArray(messages)) return '"messages" must be a list'
    const wrong = messages.findIndex((one) => !message(one, left))
    if (wrong !== -1) return `number ${wrong + 1} of the "messages" has no role, or no content block`
    result['messages'] = messages.map((one) => ({ ...one, content: withSafeIcons(one.content) }))
    return undefined
  },
  'completion/complete': (result, { left }) =>
    completion(result['completion'], left) ? undefined : '"completion" must hold a list of "values"',
  'logging/setLevel': nothing,
}

const info = shape({}, { title: text, description: text, websiteUrl: text, icons })
const changes = shape({}, { listChanged: flag })
const capable = shape(
  {},
  { tools: changes, prompts: changes, resources: shape({}, { listChanged: flag, subscribe: flag }) },
)
const unheard = (): void => {}

/** Takes out of how a server introduces itself what has the wrong type: nothing of it is a reason not to be served. */
export function tidyGreeting(serverInfo: unknown, capabilities: unknown): void {
  info(serverInfo, unheard)
  capable(capabilities, unheard)
}

/** What any result may have. */
const any = shape({}, { ...metaMember, description: text })

/**
 * Holds a result to the shape its method promises; entries of a list that are none, and members that are not what they must
 * be and can be missed, are left out with a warning.
 * @throws McpError 'PROTOCOL' when the result cannot be used
 */
export function assertResult<M extends ClientMethod>(
  method: M,
  result: JsonObject,
  warn: (text: string) => void,
): asserts result is JsonObject & ClientRequests[M]['result'] {
  const names = new Set<string>()
  const left: OnOmitted = (name, value) => {
    if (value !== null) names.add(`"${name}"`)
  }
  any(result, left)
  const fault = faults[method](result, { left, warn })
  if (names.size > 0)
    warn(`Left out of the result of ${method} what has the wrong type: ${[...names].join(', ')}`)
  if (fault !== undefined) throw new McpError('PROTOCOL', `The result of ${method} is not valid: ${fault}`)
}
