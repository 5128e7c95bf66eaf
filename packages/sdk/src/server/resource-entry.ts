import type { ResourceEntry } from './entries.ts'
import { type Source, serveRead } from './resources.ts'
import type { ResourceValue } from './server.ts'
import { invalid, requireHints, requireMembers, scopesOf, shown, shownMembers } from './shown.ts'

const members = [...shownMembers, 'uri', 'mimeType', 'annotations', 'size', 'cache', 'read']

/** Makes a resource ready. @throws McpError 'INVALID' */
export function resourceEntry(name: string, value: ResourceValue): ResourceEntry {
  const what = `Resource "${name}"`
  if ('uriTemplate' in value) throw invalid(`${what} has a "uriTemplate": define it with template()`)
  requireMembers(what, value, members, { name: 'read', does: 'serves a read' })
  const { uri, mimeType, annotations, size, cache } = value
  if (/\{[^{}]*\}/.test(uri)) {
    throw invalid(
      `${what} has a URI template in "uri": define it with template({ uriTemplate: '${uri}', … })`,
    )
  }
  if (!URL.canParse(uri)) throw invalid(`${what} needs an absolute URI, not "${uri}"`)
  requireHints(what, cache)
  const scopes = scopesOf(what, value.scopes)
  const source: Source = { scopes, mimeType, cache, read: (ctx) => value.read(ctx) }
  return {
    name,
    scopes,
    serve: (exchange) => serveRead(exchange, uri, source),
    listed: {
      uri,
      name,
      ...shown(what, value),
      ...(mimeType === undefined ? {} : { mimeType }),
      ...(annotations === undefined ? {} : { annotations }),
      ...(size === undefined ? {} : { size }),
    },
  }
}
