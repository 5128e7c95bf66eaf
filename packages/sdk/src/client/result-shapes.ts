import { McpError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import { withSafeIcons } from '../protocol/content.ts'
import type { ClientMethod, ClientRequests } from '../protocol/methods.ts'
import {
  block,
  boolean,
  contents,
  displayMembers,
  icons,
  listOf,
  message,
  metaMember,
  number,
  type OnOmitted,
  resource,
  type Shape,
  shape,
  string,
  template,
  tool,
} from '../protocol/shapes.ts'

interface CheckContext {
  onOmitted: OnOmitted
  warn(text: string): void
}

/** Checks and cleans a method's result; returns what is wrong if it cannot be used. */
type ResultCheck = (result: JsonObject, context: CheckContext) => string | undefined

const argument = shape({ name: string }, { title: string, description: string, required: boolean })
const prompt = shape({ name: string }, { ...displayMembers, arguments: listOf(argument) })

const completion = shape({ values: listOf(string) }, { total: number, hasMore: boolean })

const listCheck =
  (member: string, entry: Shape, what: string): ResultCheck =>
  (result, { onOmitted, warn }) => {
    const { [member]: all, nextCursor } = result
    if (!Array.isArray(all)) return `"${member}" must be an array`
    // Ignoring it would silently drop the rest of the list.
    if (nextCursor === null) delete result['nextCursor']
    else if (nextCursor !== undefined && typeof nextCursor !== 'string')
      return '"nextCursor" must be a string'
    const good = all.filter((one): one is JsonObject => entry(one, onOmitted))
    if (good.length < all.length) {
      warn(`Removed ${all.length - good.length} of the "${member}" because they have no ${what}`)
    }
    let unsafe = 0
    const withIcons = good.map((one) => withSafeIcons(one, (count) => (unsafe += count)))
    if (unsafe > 0) warn(`Removed ${unsafe} icons of the "${member}" that are neither https: nor data:`)
    result[member] = withIcons
    return undefined
  }

const checkToolResult: ResultCheck = (result, { onOmitted }) => {
  // Servers commonly omit `content` next to structured content.
  if (result['content'] === undefined) result['content'] = []
  const { content, isError } = result
  if (!Array.isArray(content)) return '"content" must be an array of content blocks'
  const wrong = content.findIndex((one) => !block(one, onOmitted))
  if (wrong !== -1) return `"content" must be an array of content blocks, and entry ${wrong + 1} is not one`
  // A failure must not be returned as a success.
  if (isError !== undefined && isError !== null && typeof isError !== 'boolean')
    return '"isError" must be a boolean'
  if (isError === null) delete result['isError']
  result['content'] = content.map((one) => withSafeIcons(one))
  return undefined
}

const noCheck: ResultCheck = () => undefined

const checks: Readonly<Record<ClientMethod, ResultCheck>> = {
  initialize: noCheck,
  ping: noCheck,
  'server/discover': noCheck,
  'tools/list': (result, context) => {
    const fault = listCheck('tools', tool, '"name"')(result, context)
    if (fault !== undefined || !Array.isArray(result['tools'])) return fault
    for (const one of result['tools'])
      if (!isObject(one['inputSchema'])) one['inputSchema'] = { type: 'object' }
    return undefined
  },
  'tools/call': checkToolResult,
  'resources/list': listCheck('resources', resource, '"uri" or no "name"'),
  'resources/templates/list': listCheck('resourceTemplates', template, '"uriTemplate" or no "name"'),
  'resources/read': listCheck('contents', contents, '"uri", or neither "text" nor "blob"'),
  'resources/subscribe': noCheck,
  'resources/unsubscribe': noCheck,
  'subscriptions/listen': noCheck,
  'prompts/list': listCheck('prompts', prompt, '"name"'),
  'prompts/get': (result, { onOmitted }) => {
    const { messages } = result
    if (!Array.isArray(messages)) return '"messages" must be an array'
    const wrong = messages.findIndex((one) => !message(one, onOmitted))
    if (wrong !== -1) return `entry ${wrong + 1} of "messages" has no role or no content block`
    result['messages'] = messages.map((one) => ({ ...one, content: withSafeIcons(one.content) }))
    return undefined
  },
  'completion/complete': (result, { onOmitted }) =>
    completion(result['completion'], onOmitted) ? undefined : '"completion" must contain an array "values"',
  'logging/setLevel': noCheck,
}

const info = shape({}, { title: string, description: string, websiteUrl: string, icons })
const changes = shape({}, { listChanged: boolean })
const serverCapabilities = shape(
  {},
  { tools: changes, prompts: changes, resources: shape({}, { listChanged: boolean, subscribe: boolean }) },
)
const ignore = (): void => {}

/** Removes members of the wrong type from a server's info and capabilities: none of them is a reason not to connect. */
export function sanitizeServerFacts(serverInfo: unknown, capabilities: unknown): void {
  info(serverInfo, ignore)
  serverCapabilities(capabilities, ignore)
}

const anyResult = shape({}, { ...metaMember, description: string })

/**
 * Checks the shape of a result. Invalid entries of lists and invalid optional members are removed with a warning.
 * @throws McpError 'PROTOCOL' if the result cannot be used
 */
export function assertResult<M extends ClientMethod>(
  method: M,
  result: JsonObject,
  warn: (text: string) => void,
): asserts result is JsonObject & ClientRequests[M]['result'] {
  const names = new Set<string>()
  const onOmitted: OnOmitted = (name, value) => {
    if (value !== null) names.add(`"${name}"`)
  }
  anyResult(result, onOmitted)
  const fault = checks[method](result, { onOmitted, warn })
  if (names.size > 0)
    warn(`Removed members of the wrong type from the result of ${method}: ${[...names].join(', ')}`)
  if (fault !== undefined) throw new McpError('PROTOCOL', `The result of ${method} is not valid: ${fault}`)
}
