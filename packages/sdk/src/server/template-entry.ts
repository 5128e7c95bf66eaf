import { complete, completersOf } from './completion.ts'
import type { Context } from './context.ts'
import type { TemplateEntry } from './entries.ts'
import { climbs, serveRead } from './resources.ts'
import type { AnyTemplate } from './server.ts'
import { attempt, invalid, requireHints, requireMembers, scopesOf, shown, shownMembers } from './shown.ts'
import { parseTemplate } from './uri-template.ts'

const members = [
  ...shownMembers,
  'uriTemplate',
  'mimeType',
  'annotations',
  'cache',
  'complete',
  'list',
  'read',
]

/** Makes a template ready. @throws McpError 'INVALID' */
export function templateEntry(name: string, value: AnyTemplate): TemplateEntry {
  const what = `Template "${name}"`
  if ('uri' in value) {
    throw invalid(`${what} has a "uri": name its URI template in "uriTemplate", or define it with resource()`)
  }
  requireMembers(what, value, members, { name: 'read', does: 'serves a read' })
  const { uriTemplate, mimeType, annotations, cache, list } = value
  const template = attempt(what, 'uriTemplate', () => parseTemplate(uriTemplate))
  requireHints(what, cache)
  // Declared as a method: the variables come from the very template their type comes from.
  const handler: {
    read(variables: Record<string, string | string[]>, ctx: Context, uri: string): unknown
  } = value
  const scopes = scopesOf(what, value.scopes)
  return {
    name,
    scopes,
    template,
    serve: (exchange, uri) => {
      const variables = template.match(uri)
      if (variables === undefined || climbs(uri, variables)) return undefined
      const read = (ctx: Context): unknown => handler.read(variables, ctx, uri)
      return serveRead(exchange, uri, { scopes, mimeType, cache, read })
    },
    members: list === undefined ? undefined : (ctx) => list.call(value, ctx),
    completers: completersOf(what, value.complete, template.names),
    complete,
    listed: {
      uriTemplate,
      name,
      ...shown(what, value),
      ...(mimeType === undefined ? {} : { mimeType }),
      ...(annotations === undefined ? {} : { annotations }),
    },
  }
}
