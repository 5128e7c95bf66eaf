import { McpError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import { withSafeIcons } from '../protocol/icons.ts'
import type { ClientMethod, ClientRequests } from '../protocol/methods.ts'

type Fault = (result: JsonObject, warn: (text: string) => void) => string | undefined

const listOf =
  (member: string, key: string): Fault =>
  (result, warn) => {
    const entries = result[member]
    if (!Array.isArray(entries)) return `"${member}" must be a list`
    const good = entries.filter((entry) => isObject(entry) && typeof entry[key] === 'string')
    if (good.length < entries.length) {
      warn(`Left out ${entries.length - good.length} of the "${member}" because they have no "${key}"`)
    }
    let unsafe = 0
    const shown = good.map((entry) => withSafeIcons(entry, (count) => (unsafe += count)))
    if (unsafe > 0) warn(`Left out ${unsafe} icons of the "${member}" that are neither https: nor data:`)
    result[member] = shown
    return undefined
  }

const blocks: Fault = (result) => {
  // A result with structured content alone is common, and complete enough to use.
  if (result['content'] === undefined) result['content'] = []
  const { content } = result
  if (
    !Array.isArray(content) ||
    !content.every((block) => isObject(block) && typeof block['type'] === 'string')
  ) {
    return '"content" must be a list of content blocks'
  }
  result['content'] = content.map((block) => withSafeIcons(block))
  return undefined
}

const faults: Readonly<Record<ClientMethod, Fault>> = {
  initialize: () => undefined,
  ping: () => undefined,
  'server/discover': () => undefined,
  'tools/list': (result, warn) => {
    const fault = listOf('tools', 'name')(result, warn)
    if (fault !== undefined || !Array.isArray(result['tools'])) return fault
    for (const tool of result['tools'])
      if (!isObject(tool['inputSchema'])) tool['inputSchema'] = { type: 'object' }
    return undefined
  },
  'tools/call': blocks,
  'resources/list': listOf('resources', 'uri'),
  'resources/templates/list': listOf('resourceTemplates', 'uriTemplate'),
  'resources/read': listOf('contents', 'uri'),
  'resources/subscribe': () => undefined,
  'resources/unsubscribe': () => undefined,
  'subscriptions/listen': () => undefined,
  'prompts/list': listOf('prompts', 'name'),
  'prompts/get': (result) => (Array.isArray(result['messages']) ? undefined : '"messages" must be a list'),
  'completion/complete': ({ completion }) =>
    isObject(completion) && Array.isArray(completion['values'])
      ? undefined
      : '"completion" must hold a list of "values"',
  'logging/setLevel': () => undefined,
}

/**
 * Holds a result to the shape its method promises; entries of a list that are none are left out with a warning.
 * @throws McpError 'PROTOCOL' when the result cannot be used
 */
export function assertResult<M extends ClientMethod>(
  method: M,
  result: JsonObject,
  warn: (text: string) => void,
): asserts result is JsonObject & ClientRequests[M]['result'] {
  const fault = faults[method](result, warn)
  if (fault !== undefined) throw new McpError('PROTOCOL', `The result of ${method} is not valid: ${fault}`)
}
