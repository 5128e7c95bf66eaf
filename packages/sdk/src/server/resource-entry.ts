import type { ResourceEntry } from './entries.ts'
import { type Source, serveRead } from './resources.ts'
import type { ResourceValue } from './server.ts'
import { invalid, requireHints, scopesOf, shown } from './shown.ts'

/** Makes a resource ready. @throws McpError 'INVALID' */
export function resourceEntry(name: string, value: ResourceValue): ResourceEntry {
  const what = `Resource "${name}"`
  const { uri, mimeType, annotations, size, cache } = value
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
