import type { CompletionField, LibraryPrompt, ResourceRef } from '@jackfield/host'
import type { HostClient } from '@jackfield/host/client'
import { entryTexts } from '../output/library.ts'
import { quoteWord } from './slash.ts'

/** A completion candidate. */
export interface Candidate {
  /** The replacement text. */
  readonly text: string
  /** Description from the server; not sanitized for output. */
  readonly about: string
}

/** Completions for the end of a line. */
export interface Typeahead {
  /** Where the replaced text starts. */
  readonly from: number
  readonly candidates: readonly Candidate[]
  /** More candidates exist. */
  readonly more: boolean
}

/** The partial word at the end of a line. */
export type CompletionTarget =
  | { kind: 'command'; from: number; text: string }
  | { kind: 'argument'; from: number; text: string; prompt: LibraryPrompt; assigned: readonly string[] }
  | { kind: 'value'; from: number; field: CompletionField }
  | { kind: 'mention'; from: number; text: string }

const maxCandidates = 10

/** Parses the end of a line; undefined when it cannot be completed. */
export function completionTarget(
  line: string,
  prompts: readonly LibraryPrompt[],
): CompletionTarget | undefined {
  const mention = /(?:^|\s)@(\S*)$/.exec(line)
  const command = /^\/(\S*)(?:\s+(.*))?$/s.exec(line)
  if (command === null || line.startsWith('//')) {
    const text = mention?.[1]
    return text === undefined ? undefined : { kind: 'mention', from: line.length - text.length - 1, text }
  }
  const [, name = '', rest] = command
  if (rest === undefined) return { kind: 'command', from: 0, text: name }
  const prompt = prompts.find((one) => one.command === name)
  if (prompt === undefined) return undefined
  const words = rest.split(/\s+/)
  const last = words.pop() ?? ''
  const chosen = Object.fromEntries(words.flatMap((word) => assignment(word) ?? []))
  const typed = assignment(last)
  const from = line.length - last.length
  if (typed === undefined)
    return { kind: 'argument', from, text: last, prompt, assigned: Object.keys(chosen) }
  const [[argument, value]] = typed
  return {
    kind: 'value',
    from: from + argument.length + 1,
    field: { server: prompt.server, of: { prompt: prompt.prompt.name }, argument, value, chosen },
  }
}

/** Completion candidates; undefined when there is nothing to complete or the line has changed meanwhile. */
export async function typeahead(
  line: string,
  client: Pick<HostClient, 'call'>,
  servers: readonly string[],
  signal?: AbortSignal,
): Promise<Typeahead | undefined> {
  const prompts = await client.call('library.prompts', {})
  const target = completionTarget(line, prompts)
  if (target === undefined) return undefined
  const { from } = target
  switch (target.kind) {
    case 'command':
      return toTypeahead(from, commandCandidates(target.text, prompts))
    case 'argument':
      return toTypeahead(from, argumentCandidates(target))
    case 'mention':
      return toTypeahead(from, await mentionCandidates(target.text, client, servers))
    case 'value': {
      const completion = await client.call(
        'library.complete',
        target.field,
        signal === undefined ? {} : { signal },
      )
      if (completion === null) return undefined
      const quoted = completion.values.map((value) => ({ text: quoteWord(value), about: '' }))
      return {
        ...toTypeahead(from, quoted),
        more: completion.more || completion.values.length > maxCandidates,
      }
    }
  }
}

/** Prompts whose command starts with the text, then those that contain it. */
function commandCandidates(text: string, prompts: readonly LibraryPrompt[]): Candidate[] {
  const wanted = text.toLowerCase()
  const rank = ({ command }: LibraryPrompt): number => command.toLowerCase().indexOf(wanted)
  return prompts
    .filter((prompt) => rank(prompt) !== -1)
    .sort((one, other) => Math.min(rank(one), 1) - Math.min(rank(other), 1))
    .map(({ command, prompt }) => ({
      text: `/${command} `,
      about: [prompt.title ?? prompt.description ?? '', argumentHint(prompt.arguments ?? [])]
        .filter((part) => part !== '')
        .join('  '),
    }))
}

/** Arguments in display form: `name=… [tone=…]`. */
function argumentHint(args: readonly { name: string; required?: boolean }[]): string {
  return args.map(({ name, required }) => (required === true ? `${name}=…` : `[${name}=…]`)).join(' ')
}

/** Required arguments first. */
function argumentCandidates({
  prompt,
  text,
  assigned,
}: Extract<CompletionTarget, { kind: 'argument' }>): Candidate[] {
  return (prompt.prompt.arguments ?? [])
    .filter(({ name }) => name.startsWith(text) && !assigned.includes(name))
    .sort((one, other) => Number(other.required === true) - Number(one.required === true))
    .map(({ name, title, description, required }) => ({
      text: `${name}=`,
      about: [description ?? title ?? '', required === true ? '(required)' : ''].join(' ').trim(),
    }))
}

async function mentionCandidates(
  text: string,
  client: Pick<HostClient, 'call'>,
  servers: readonly string[],
): Promise<Candidate[]> {
  const server = servers.find((name) => text.startsWith(`${name}:`))
  const words = server === undefined ? text : text.slice(server.length + 1)
  const names = servers.filter((name) => server === undefined && name.startsWith(text))
  const { matches } = await client.call('library.search', {
    query: words,
    kinds: ['resource', 'template'],
    limit: maxCandidates + 1,
    ...(server !== undefined && { server }),
  })
  return [
    ...names.map((name) => ({ text: `@${name}:`, about: '' })),
    ...matches.map(({ entry }) => {
      const { written, about } = entryTexts(entry)
      // Completion of a template starts at its first variable.
      const literal = entry.kind === 'template' ? written.replace(/\{.*$/s, '') : written
      return {
        text: `@${entry.server}:${literal}`,
        about: entry.kind === 'template' ? `${written}  ${about}` : about,
      }
    }),
  ]
}

/** The resources mentioned in a text as `@server:uri`, without duplicates. Punctuation after a URI is not part of it. */
export function mentionsIn(text: string, servers: readonly string[]): ResourceRef[] {
  const mentioned = new Map<string, ResourceRef>()
  for (const [, word = ''] of text.matchAll(/(?:^|\s)@(\S+)/g)) {
    const server = servers.find((name) => word.startsWith(`${name}:`))
    if (server === undefined) continue
    const uri = word.slice(server.length + 1).replace(/[.,;:!?)\]}'"»]+$/, '')
    if (/^[a-z][a-z0-9+.-]*:./i.test(uri)) mentioned.set(`${server}:${uri}`, { server, uri })
  }
  return [...mentioned.values()]
}

function assignment(word: string): [[string, string]] | undefined {
  const separator = word.indexOf('=')
  return separator < 1
    ? undefined
    : [[word.slice(0, separator), word.slice(separator + 1).replace(/^["']/, '')]]
}

function toTypeahead(from: number, candidates: readonly Candidate[]): Typeahead {
  return { from, candidates: candidates.slice(0, maxCandidates), more: candidates.length > maxCandidates }
}
