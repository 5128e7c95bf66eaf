import type { CallToolResult, ContentBlock } from '@jackfield/sdk'
import { failure, textResult } from '../../core/call-results.ts'
import { reasonWithFixes } from '../../shared/failures.ts'
import type { Host } from '../../types/index.ts'
import type { ModelTool } from '../tool-search/meter.ts'

/** Maximum entries of one kind shown to the model at once; `match` filters. */
const maxEntriesShown = 100
/** Maximum characters of a stored result per read. */
const readCharacters = { usual: 5_000, most: 10_000 }

/** The conversation's own tools, with which a model finds and reads what servers offer. */
export const virtualTools: readonly ModelTool[] = [
  {
    name: 'list_resources',
    description:
      'Lists what can be read with read_resource: resources, and templates whose {placeholders} you fill in.',
    inputSchema: {
      type: 'object',
      properties: {
        server: { type: 'string', description: 'Only this server' },
        match: { type: 'string', description: 'Only entries that contain this text' },
      },
      additionalProperties: false,
    },
  },
  {
    name: 'read_resource',
    description: 'Reads one resource of a server by its URI.',
    inputSchema: {
      type: 'object',
      properties: {
        server: { type: 'string', description: 'The server that publishes it, as list_resources says' },
        uri: { type: 'string', description: 'The full URI, without placeholders' },
      },
      required: ['server', 'uri'],
      additionalProperties: false,
    },
  },
  {
    name: 'read_result',
    description:
      'Reads more of a tool result that was too long to be shown: a range of its text, or what "path" finds in its JSON.',
    inputSchema: {
      type: 'object',
      properties: {
        id: { type: 'string', description: 'As the cut result says' },
        path: {
          type: 'string',
          description:
            'Such as .items[0].name, .items[2:5], .items[].name, ".items | length", or a JSON Pointer',
        },
        from: { type: 'integer', minimum: 0, description: 'The first character; default 0' },
        characters: {
          type: 'integer',
          minimum: 1,
          maximum: readCharacters.most,
          description: 'Default 5000',
        },
      },
      required: ['id'],
      additionalProperties: false,
    },
  },
]

const names: ReadonlySet<string> = new Set(virtualTools.map((tool) => tool.name))

/** Whether the conversation answers this tool itself. */
export function isVirtual(name: string): boolean {
  return names.has(name)
}

/** Runs one of `virtualTools`. A failure is a result the model can read. */
export async function callVirtual(
  host: Host,
  conversation: string,
  name: string,
  args: Record<string, unknown>,
  signal: AbortSignal | undefined,
): Promise<CallToolResult> {
  if (name === 'list_resources') return textResult(resourceList(host, args))
  if (name === 'read_result') return readStored(host, conversation, args)
  const { server, uri } = args
  if (typeof server !== 'string' || typeof uri !== 'string') {
    return failure(
      'read_resource needs "server" and "uri", both strings. list_resources shows what there is.',
    )
  }
  if (uri.startsWith('jackfield://results/')) return readStored(host, conversation, { id: uri })
  if (!host.connections.has(server)) {
    return failure(`There is no server "${server}". Servers are: ${[...host.connections.keys()].join(', ')}.`)
  }
  const withheld = host.library.withheld(server, uri)
  if (withheld !== undefined) return failure(`${uri} of ${server} is not given to you: ${withheld}.`)
  try {
    const { contents } = await host.read(server, uri, {
      conversation,
      ...(signal !== undefined && { signal }),
    })
    const content: ContentBlock[] = contents.map((entry) =>
      'blob' in entry && entry.mimeType?.startsWith('image/') === true
        ? { type: 'image', data: entry.blob, mimeType: entry.mimeType }
        : { type: 'resource', resource: entry },
    )
    return content.length === 0 ? textResult('(the resource is empty)') : { content }
  } catch (error) {
    signal?.throwIfAborted()
    return failure(`${uri} could not be read from ${server}: ${reasonWithFixes(error)}`)
  }
}

function readStored(host: Host, conversation: string, args: Record<string, unknown>): CallToolResult {
  const { id, path, from, characters } = args
  if (typeof id !== 'string') return failure('read_result needs "id", as the cut result says it.')
  const wanted = typeof characters === 'number' ? characters : readCharacters.usual
  try {
    const part = host.results.read(
      id,
      {
        characters: Math.min(wanted, readCharacters.most),
        ...(typeof path === 'string' && { path }),
        ...(typeof from === 'number' && { from }),
      },
      { conversation },
    )
    if (part.next === undefined && part.from === 0) return textResult(part.text)
    const end = part.from + part.text.length
    const rest = part.next === undefined ? 'the end' : `go on with "from": ${part.next}`
    return textResult(`${part.text}\n[characters ${part.from} to ${end} of ${part.total}; ${rest}]`)
  } catch (error) {
    return failure(reasonWithFixes(error))
  }
}

function resourceList(host: Host, args: Record<string, unknown>): string {
  const match = typeof args.match === 'string' ? args.match.toLowerCase() : ''
  const isWanted = (server: string, ...texts: (string | undefined)[]): boolean =>
    (typeof args.server !== 'string' || args.server === server) &&
    texts.some((entry) => entry?.toLowerCase().includes(match) === true)
  const resources = host
    .resources()
    .filter(({ server, resource: r }) => isWanted(server, r.uri, r.name, r.title, r.description))
    .filter(({ server, resource: { uri } }) => host.library.withheld(server, uri) === undefined)
    .map(({ server, resource: r }) => entryLine(server, r.uri, r.title ?? r.name, r.description))
  const templates = host
    .templates()
    .filter(({ server, template: t }) => isWanted(server, t.uriTemplate, t.name, t.title, t.description))
    .map(({ server, template: t }) => entryLine(server, t.uriTemplate, t.title ?? t.name, t.description))
  return [...section('Resources', resources), ...section('Templates', templates)].join('\n')
}

function section(title: string, lines: string[]): string[] {
  if (lines.length === 0) return [`${title}: none`]
  const more = lines.length - maxEntriesShown
  return [
    `${title} (server, URI, meaning):`,
    ...lines.slice(0, maxEntriesShown),
    ...(more > 0 ? [`… and ${more} more; narrow with "match" or "server".`] : []),
  ]
}

function entryLine(server: string, uri: string, title: string, description: string | undefined): string {
  return `- ${server}  ${uri}  ${title}${description === undefined ? '' : `: ${description}`}`
}
