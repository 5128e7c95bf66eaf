import type { CallToolResult } from '@jackfield/sdk'
import { failure, textResult } from '../../core/call-results.ts'
import { isRecord } from '../../shared/json.ts'
import { oneLine } from '../../shared/text.ts'
import type { CatalogTool, Host } from '../../types/index.ts'
import type { ModelTool } from '../tool-search/meter.ts'

const limits = { found: 25, inspected: 5, characters: 16_000, description: 160, servers: 60 }

const names = { search: 'search_tools', inspect: 'inspect_tool', call: 'call_tool' } as const

/** Three tools that replace all others; their descriptions name the current servers. */
export function searchTools(tools: readonly CatalogTool[]): ModelTool[] {
  const servers = [...Map.groupBy(tools, ({ server }) => server)]
    .slice(0, limits.servers)
    .map(([server, entries]) => `${server} (${entries.length})`)
  return [
    {
      name: names.search,
      description: `Finds tools by what you want to do, or by name. There are too many to list, so search before you say that something cannot be done. Servers and how many tools they have: ${servers.join(', ')}.`,
      inputSchema: {
        type: 'object',
        properties: {
          query: { type: 'string', description: 'A few words, such as "create issue"' },
          server: { type: 'string', description: 'Only this server' },
          limit: { type: 'integer', minimum: 1, maximum: limits.found, description: 'Default 8' },
          detail: {
            enum: ['names', 'brief', 'full'],
            description:
              'names alone, with parameters and a line of description (default), or whole definitions',
          },
        },
        required: ['query'],
        additionalProperties: false,
      },
    },
    {
      name: names.inspect,
      description: 'Shows whole definitions of tools that search_tools found.',
      inputSchema: {
        type: 'object',
        properties: { names: { type: 'array', items: { type: 'string' }, maxItems: limits.inspected } },
        required: ['names'],
        additionalProperties: false,
      },
    },
    {
      name: names.call,
      description: 'Calls a tool that search_tools found, with arguments as its definition says.',
      inputSchema: {
        type: 'object',
        properties: {
          name: { type: 'string', description: 'As search_tools gives it' },
          arguments: { type: 'object' },
        },
        required: ['name'],
        additionalProperties: false,
      },
    },
  ]
}

const searchToolNames: ReadonlySet<string> = new Set(Object.values(names))

/** Whether the conversation answers this tool itself. */
export function isSearchTool(name: string): boolean {
  return searchToolNames.has(name)
}

/** The call that a `call_tool` contains; any other call unchanged. */
export function wrappedCall<T extends { name: string; input: Record<string, unknown> }>(use: T): T {
  const { name, arguments: args = {} } = use.input
  if (use.name !== names.call || typeof name !== 'string' || searchToolNames.has(name) || !isRecord(args))
    return use
  return { ...use, name, input: args }
}

/** Runs one of `searchTools`, except `call_tool`, which `wrappedCall` resolves. A failure is a result the model can read. */
export function callSearchTool(
  host: Host,
  name: string,
  args: Record<string, unknown>,
  isOn: (tool: CatalogTool) => boolean,
): CallToolResult {
  switch (name) {
    case names.search:
      return search(host, args, isOn)
    case names.inspect:
      return inspect(host, args, isOn)
    default:
      return failure('call_tool needs "name", a tool that search_tools found, and "arguments", an object.')
  }
}

function search(
  host: Host,
  { query, server, limit, detail = 'brief' }: Record<string, unknown>,
  isOn: (tool: CatalogTool) => boolean,
): CallToolResult {
  if (typeof query !== 'string' || query.trim() === '') {
    return failure('search_tools needs "query": a few words that say what you want to do.')
  }
  const servers = new Set(
    host
      .tools()
      .filter(isOn)
      .map((entry) => entry.server),
  )
  if (typeof server === 'string' && !servers.has(server)) {
    return failure(
      `There are no tools of a server "${server}". Servers are: ${[...servers].slice(0, limits.servers).join(', ')}.`,
    )
  }
  const { matches, total } = host.toolSearch.search(query, {
    isOn,
    limit: typeof limit === 'number' ? Math.min(limit, limits.found) : 8,
    ...(typeof server === 'string' && { server }),
  })
  if (matches.length === 0) return textResult('No match. Try other words, or leave "server" out.')
  const lines = matches.map(({ tool }) => toolText(tool, detail))
  return textResult(joinWithinLimit([`${matches.length} of ${total}, the best first:`, ...lines]))
}

function inspect(
  host: Host,
  { names: requestedNames }: Record<string, unknown>,
  isOn: (tool: CatalogTool) => boolean,
): CallToolResult {
  const names = Array.isArray(requestedNames) ? requestedNames.filter((name) => typeof name === 'string') : []
  if (names.length === 0)
    return failure('inspect_tool needs "names": a list of tools that search_tools found.')
  const tools = new Map(
    host
      .tools()
      .filter(isOn)
      .map((entry) => [entry.name, entry]),
  )
  const descriptions = names.slice(0, limits.inspected).map((name) => {
    const entry = tools.get(name)
    return entry === undefined ? `There is no tool "${oneLine(name)}" at present.` : toolText(entry, 'full')
  })
  return textResult(joinWithinLimit(descriptions))
}

function toolText({ name, server, tool }: CatalogTool, detail: unknown): string {
  if (detail === 'names') return name
  if (detail === 'full') {
    const { title, description, inputSchema, outputSchema, annotations } = tool
    return JSON.stringify({ name, server, title, description, inputSchema, outputSchema, annotations })
  }
  const required: unknown = tool.inputSchema.required
  const properties = isRecord(tool.inputSchema.properties) ? Object.keys(tool.inputSchema.properties) : []
  const parameters = properties
    .slice(0, 12)
    .map((parameter) =>
      Array.isArray(required) && required.includes(parameter) ? parameter : `${parameter}?`,
    )
  const text = oneLine([tool.title, tool.description].filter((part) => part !== undefined).join(': '))
  const shortened = text.length > limits.description ? `${text.slice(0, limits.description)}…` : text
  return `${name}(${parameters.join(', ')}${properties.length > 12 ? ', …' : ''})  ${shortened}`
}

/** As many of the parts as fit, and the number of the others. */
function joinWithinLimit(parts: readonly string[]): string {
  const shownParts: string[] = []
  let remaining = limits.characters
  for (const part of parts) {
    remaining -= part.length + 1
    if (remaining < 0) break
    shownParts.push(part)
  }
  const omitted = parts.length - shownParts.length
  return [
    ...shownParts,
    ...(omitted > 0 ? [`… ${omitted} more did not fit; ask for fewer or for less detail.`] : []),
  ].join('\n')
}
