import type { CatalogTemplate } from '@jackfield/host'
import type { HostClient } from '@jackfield/host/client'
import { rootsVerbs } from '../commands/roots.ts'
import { plain } from '../output/sanitize.ts'
import { attachedCopies } from './attachments.ts'
import type { ChatState } from './state.ts'
import { typeahead } from './typeahead.ts'

/** Data used for completion. */
type CompletionSource = Pick<ChatState, 'client' | 'conversation'>

const maxCompletions = 40

/** Completions of the end of a line, and that end. `names` are the chat's commands. Unprintable candidates are left out. */
export async function completions(
  line: string,
  names: readonly string[],
  source: CompletionSource,
): Promise<[hits: string[], part: string]> {
  const { client } = source
  const attaching = /^\/attach\s+(\S+)\s+(.*)$/s.exec(line)
  if (attaching !== null && attaching[1] !== 'again') {
    const [, server = '', rest = ''] = attaching
    const [hits, part] = await attachCompletions(server, rest.split(/\s+/), client)
    return [hits.filter((hit) => plain(hit) === hit).slice(0, maxCompletions), part]
  }
  const own = await commandCompletions(line, names, source)
  const ahead = own === undefined ? await typeahead(line, client, await serverNames(client)) : undefined
  const part = ahead === undefined ? (/\S*$/.exec(line)?.[0] ?? '') : line.slice(ahead.from)
  const candidates = own ?? ahead?.candidates.map(({ text }) => text) ?? []
  return [candidates.filter((hit) => plain(hit) === hit).slice(0, maxCompletions), part]
}

/** Names that start with the text, or else contain it, since a prompt can be found by its own name as well as by its server's. */
function matchingCommands(part: string, names: readonly string[]): readonly string[] {
  const begin = names.filter((one) => one.startsWith(part))
  if (begin.length > 0) return begin
  const wanted = part.toLowerCase()
  const own = names.filter((one) => one.toLowerCase().includes(`.${wanted}`))
  return own.length > 0 ? own : names.filter((one) => one.toLowerCase().includes(wanted))
}

/** Completes commands and their arguments; undefined for a prompt or a mention. */
async function commandCompletions(
  line: string,
  names: readonly string[],
  source: CompletionSource,
): Promise<string[] | undefined> {
  if (!line.startsWith('/') || line.startsWith('//')) return undefined
  const [name = '', ...words] = line.slice(1).split(/\s+/)
  if (words.length === 0) return matchingCommands(name, names).map((one) => `/${one} `)
  const part = words.at(-1) ?? ''
  const values = await argumentValues(name, words, source)
  return values?.filter((value) => value.startsWith(part))
}

async function argumentValues(
  name: string,
  words: readonly string[],
  source: CompletionSource,
): Promise<string[] | undefined> {
  const { client, conversation } = source
  if (name === 'roots') return await rootsCompletions(words, client)
  if (name === 'context' && words.length === 1) return ['on', 'off']
  if (name === 'detach') return ['all', ...(await attachedCopies(source)).map((_, n) => String(n + 1))]
  if (name === 'model') return (await client.call('models.list', {})).map(({ id }) => id)
  if (name === 'resume') return (await client.call('conversations.list', {})).map(({ id }) => id)
  if (name === 'call' && words.length === 1)
    return (await client.call('catalog.tools', {})).map((tool) => `${tool.name} `)
  if (name === 'tools') return await toolSwitchCompletions(words, source)
  if (name === 'show' && words.length === 1)
    return (await client.call('conversations.calls', { id: conversation.id }))
      .map((_, at) => String(at + 1))
      .toReversed()
  if (name === 'respond') return (await client.call('inbox.list', {})).map(({ id }) => id.slice(0, 8))
  if (name !== 'attach') return undefined
  return ['again ', ...(await serverNames(client)).map((server) => `${server} `)]
}

async function serverNames(client: HostClient): Promise<string[]> {
  return (await client.call('servers.list', {})).map(({ name }) => name)
}

/** Arguments of `/tools on` and `/tools off`: servers and tools not in that state. */
async function toolSwitchCompletions(
  [verb, ...names]: readonly string[],
  { client, conversation }: CompletionSource,
): Promise<string[]> {
  if (names.length === 0) return ['on ', 'off ']
  if (verb !== 'on' && verb !== 'off') return []
  const tools = await client.call('catalog.tools', {})
  const others = tools.filter((tool) => conversation.isToolOn(tool) === (verb === 'off'))
  const part = names.at(-1) ?? ''
  return [
    ...new Set(others.map(({ server }) => server)),
    ...others.map(({ server, name, tool }) => (part.includes('__') ? name : `${server}.${tool.name}`)),
  ]
}

/** Arguments of `/attach <server>`: URIs, template variables in a URI, and `name=value` after one. */
async function attachCompletions(
  server: string,
  words: readonly string[],
  client: HostClient,
): Promise<[string[], string]> {
  const templates = await client.call('catalog.templates', { server })
  const part = words.at(-1) ?? ''
  if (words.length > 1) {
    const template = templates.find((entry) => entry.template.uriTemplate === words[0])
    return [template === undefined ? [] : await assignmentCompletions(template, words.slice(1), client), part]
  }
  const hits = (await client.call('catalog.resources', { server })).map(({ resource }) => resource.uri)
  // Sequential, so that of several concurrent completions only the last sends a request.
  for (const entry of templates) hits.push(...(await uriCompletions(entry, part, client).catch(() => [])))
  return [[...new Set(hits)].filter((uri) => uri.startsWith(part)), part]
}

async function assignmentCompletions(
  { server, template }: CatalogTemplate,
  words: readonly string[],
  client: HostClient,
): Promise<string[]> {
  const part = words.at(-1) ?? ''
  const given = words.slice(0, -1).flatMap((word) => {
    const at = word.indexOf('=')
    return at < 1 ? [] : [[word.slice(0, at), word.slice(at + 1)] as const]
  })
  const chosen = Object.fromEntries(given)
  const at = part.indexOf('=')
  if (at === -1) {
    const fields = await client.call('library.fields', { uriTemplate: template.uriTemplate })
    const open = fields.filter(({ name }) => !Object.hasOwn(chosen, name))
    return open.map(({ name }) => `${name}=`).filter((hit) => hit.startsWith(part))
  }
  const [argument, value] = [part.slice(0, at), part.slice(at + 1)]
  const of = { template: template.uriTemplate }
  const completion = await client.call('library.complete', { server, of, argument, value, chosen })
  return (completion?.values ?? []).filter((one) => !/\s/.test(one)).map((one) => `${argument}=${one}`)
}

/** URIs of a template that start with the text, with the server's completions for the last variable. */
async function uriCompletions(
  { server, template }: CatalogTemplate,
  typed: string,
  client: HostClient,
): Promise<string[]> {
  const end = templateEnd(template.uriTemplate, typed)
  if (end === undefined) return []
  if ('literal' in end) return [end.literal]
  const { name: argument, value, chosen, from, after } = end
  const completion = await client.call('library.complete', {
    server,
    of: { template: template.uriTemplate },
    argument,
    value,
    chosen,
  })
  return (completion?.values ?? []).map((one) => `${typed.slice(0, from)}${encodeURIComponent(one)}${after}`)
}

type TemplateEnd =
  /** The text ends inside a literal part of the template; this is the URI up to the next variable. */
  | { literal: string }
  /** The text ends inside a variable: its value starts at `from`, and `after` follows it. */
  | { name: string; value: string; chosen: Record<string, string>; from: number; after: string }

/** Finds the position in a template at which a typed URI ends. Variables with operators are not completed. */
function templateEnd(uriTemplate: string, typed: string): TemplateEnd | undefined {
  const parts = uriTemplate.split(/\{([^{}]*)\}/)
  const chosen: Record<string, string> = {}
  let position = 0
  for (let n = 0; n < parts.length; n += 2) {
    const literal = parts[n] ?? ''
    const rest = typed.slice(position)
    if (!rest.startsWith(literal))
      return literal.startsWith(rest) ? { literal: typed + literal.slice(rest.length) } : undefined
    position += literal.length
    const name = parts[n + 1]
    if (name === undefined || !/^[\w.%]+$/.test(name)) return undefined
    const after = parts[n + 2] ?? ''
    const end = after === '' ? -1 : typed.indexOf(after, position)
    const value = decodeUriPart(typed.slice(position, end === -1 ? undefined : end))
    if (end === -1) return { name, value, chosen, from: position, after }
    chosen[name] = value
    position = end
  }
  return undefined
}

function decodeUriPart(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Arguments of `/roots`: its verbs, then servers for the verbs that take one. */
async function rootsCompletions(
  [verb = '', ...names]: readonly string[],
  client: HostClient,
): Promise<string[]> {
  if (names.length === 0) return Object.keys(rootsVerbs).map((one) => `${one} `)
  const takesServer = ['preview', 'allow', 'deny', 'forget'].includes(verb)
  if (takesServer && names.length === 1) return await serverNames(client)
  return verb === 'include' ? await client.call('roots.excluded', {}) : []
}
