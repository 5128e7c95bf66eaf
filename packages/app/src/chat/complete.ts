import type { Conversation, Host, Model } from '@jackfield/host'
import { plain } from '../output/sanitize.ts'
import { typeahead } from './attach.ts'

/** What suggestions are made from. */
export interface CompletionSource {
  host: Host
  talk: Conversation
  models: readonly Model[]
}

const most = 40

/**
 * What the end of a line could become, and that end itself. `names` are the commands of the chat. What is not safe to
 * print is left out.
 */
export async function completions(
  line: string,
  names: readonly string[],
  source: CompletionSource,
): Promise<[hits: string[], part: string]> {
  const { host } = source
  const own = ownCompletions(line, names, source)
  const ahead =
    own === undefined ? await typeahead(line, host.library, [...host.connections.keys()]) : undefined
  const part = ahead === undefined ? (/\S*$/.exec(line)?.[0] ?? '') : line.slice(ahead.from)
  const candidates = own ?? ahead?.candidates.map(({ text }) => text) ?? []
  return [candidates.filter((hit) => plain(hit) === hit).slice(0, most), part]
}

/** Those that begin so, else those that have it inside: a prompt is known by its own name as well as by its server's. */
function commandsLike(part: string, names: readonly string[]): readonly string[] {
  const begin = names.filter((one) => one.startsWith(part))
  if (begin.length > 0) return begin
  const wanted = part.toLowerCase()
  const own = names.filter((one) => one.toLowerCase().includes(`.${wanted}`))
  return own.length > 0 ? own : names.filter((one) => one.toLowerCase().includes(wanted))
}

/** Commands and what stands after them; undefined where it is a prompt's place, or a mention's. */
function ownCompletions(
  line: string,
  names: readonly string[],
  { host, models, talk }: CompletionSource,
): string[] | undefined {
  if (!line.startsWith('/') || line.startsWith('//')) return undefined
  const [name = '', ...words] = line.slice(1).split(/\s+/)
  if (words.length === 0) return commandsLike(name, names).map((one) => `/${one} `)
  const part = words.at(-1) ?? ''
  const values = (): string[] | undefined => {
    if (name === 'model') return models.map(({ id }) => id)
    if (name === 'resume') return host.conversations.list().map(({ id }) => id)
    if (name === 'call' && words.length === 1) return host.tools().map((tool) => `${tool.name} `)
    if (name === 'tools') return toolSwitches(words, host, talk)
    if (name === 'show' && words.length === 1)
      return [...talk.calls.keys()].map((at) => String(at + 1)).toReversed()
    if (name === 'respond') return host.inbox.list().map(({ id }) => id.slice(0, 8))
    if (name !== 'attach') return undefined
    if (words.length === 1) return ['again ', ...[...host.connections.keys()].map((server) => `${server} `)]
    return host.resources().flatMap(({ server, resource }) => (server === words[0] ? [resource.uri] : []))
  }
  return values()?.filter((value) => value.startsWith(part))
}

/** What `/tools on` and `/tools off` can be followed by: servers and tools that are not in that state. */
function toolSwitches([verb, ...names]: readonly string[], host: Host, talk: Conversation): string[] {
  if (names.length === 0) return ['on ', 'off ']
  if (verb !== 'on' && verb !== 'off') return []
  const others = host.tools().filter((tool) => talk.isToolOn(tool) === (verb === 'off'))
  const part = names.at(-1) ?? ''
  return [
    ...new Set(others.map(({ server }) => server)),
    ...others.map(({ server, name, tool }) => (part.includes('__') ? name : `${server}.${tool.name}`)),
  ]
}
