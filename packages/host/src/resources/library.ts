import { parseTemplate, type UriTemplate } from '@jackfield/sdk'
import { isForPersonOnly } from '../shared/audience.ts'
import { unseenIn } from '../shared/visible.ts'
import type {
  CatalogPrompt,
  CatalogResource,
  CatalogTemplate,
  Host,
  HostEvent,
  Library,
  LibraryEntry,
  LibraryMatch,
  LibraryNode,
  ResourceRef,
} from '../types/index.ts'
import { Completions } from './completions.ts'
import { previewOf, textBlock, tokensOf } from './contents.ts'
import { attach, Copies, keyOf } from './copies.ts'
import { include } from './include.ts'
import { expand, fieldsOf, previewPrompt } from './prompts.ts'
import { LibraryIndex, type SearchHit } from './search.ts'
import { type ResourceTexts, snippetOf } from './texts.ts'
import type { Watching } from './watches.ts'

export type LibraryHost = Lists & Watching & Pick<Host, 'read' | 'prompt' | 'complete'>

const defaultCharacters = 20_000

/** Resources and prompts of a host. Without `texts`, contents are not searched. */
export function createLibrary(
  host: LibraryHost,
  emit: (event: HostEvent) => void,
  texts?: ResourceTexts,
): Library {
  const listing = new Listing(host)
  const index = new LibraryIndex()
  const completions = new Completions(host)
  const withholding = new Withholding(listing)
  const withheld = (server: string, uri: string): string | undefined => withholding.why(server, uri)
  const titleOf = ({ server, uri }: ResourceRef): string => {
    const listed = listing
      .of('resource')
      .find((entry) => entry.server === server && entry.resource.uri === uri)
    return listed?.resource.title ?? listed?.resource.name ?? uri
  }
  const copies = new Copies({
    host,
    titleOf,
    changed: (conversation) => emit({ type: 'attached', conversation }),
  })
  let including: Promise<unknown> = Promise.resolve()
  /** By conversation: excluded resources, or `all`. */
  const unwanted = new Map<string, Set<string> | 'all'>()

  const matchOf = (
    { entry, score, isNamed, text }: SearchHit,
    words: readonly string[],
  ): LibraryMatch | undefined => {
    if (text === undefined) return { entry, score }
    const snippet = texts?.snippet(text, words)
    if (snippet === undefined) {
      // A match in a secret that became known after the read is dropped.
      return isNamed || snippetOf(text.uri, words) !== undefined ? { entry, score } : undefined
    }
    const reason = withheld(text.server, text.uri)
    const content = { snippet, readAt: text.readAt, ...(reason !== undefined && { withheld: reason }) }
    return { entry, score, content }
  }

  return {
    tree: () => listing.tree,
    search(query, { content = false, ...options } = {}) {
      index.update(listing.entries)
      const unavailable = content ? (texts?.unavailable ?? undefined) : undefined
      const result = index.search(query, options, content ? (words) => texts?.find(words) ?? [] : undefined)
      const matches = result.matches.flatMap((match) => matchOf(match, result.words) ?? [])
      return {
        matches,
        total: result.total - (result.matches.length - matches.length),
        ...(unavailable !== undefined && { contentUnavailable: unavailable }),
      }
    },
    async preview(server, uri, { characters = defaultCharacters, signal } = {}) {
      const { contents } = await host.read(server, uri, signal === undefined ? {} : { signal })
      const reason = withheld(server, uri)
      return {
        server,
        uri,
        contents: previewOf(contents, characters),
        tokens: tokensOf(textBlock(contents)),
        ...(reason !== undefined && { withheld: reason }),
      }
    },
    withheld,
    fields: fieldsOf,
    expand,
    complete: (field, { signal } = {}) => completions.complete(field, signal),
    attach: (conversation, refs, { signal } = {}) => attach(copies, withheld, conversation, refs, signal),
    attached: (conversation) => copies.list(conversation),
    detach(conversation, ref) {
      const key = ref && keyOf(ref)
      copies.remove(conversation, (copy) => key === undefined || keyOf(copy) === key)
      if (ref === undefined) unwanted.delete(conversation)
    },
    diff: (conversation, ref, { signal } = {}) => copies.diff(conversation, ref, signal),
    include(conversation, { budget, priority, skip, signal } = {}) {
      const resources = (): ReturnType<Host['resources']> => listing.of('resource')
      const excluded = (ref: ResourceRef): string | undefined => {
        const without = unwanted.get(conversation)
        if (without === 'all') return 'automatic attachments are off in this conversation'
        return without?.has(keyOf(ref)) === true ? 'you removed it' : undefined
      }
      // Sequential, since all of them use the same budget.
      const done = including.then(() =>
        include({
          ...{ copies, resources: resources(), withheld, excluded },
          ...{ conversation, budget, priority, skip, signal },
        }),
      )
      including = done.catch(() => {})
      return done
    },
    exclude(conversation, ref) {
      const before = unwanted.get(conversation)
      if (ref === undefined || before === 'all') unwanted.set(conversation, 'all')
      else unwanted.set(conversation, new Set([...(before ?? []), keyOf(ref)]))
      copies.remove(
        conversation,
        (copy) => copy.because !== undefined && (ref === undefined || keyOf(copy) === keyOf(ref)),
      )
    },
    prompts: () => listing.of('prompt').map(({ kind: _kind, ...prompt }) => prompt),
    prompt: (name, args, options = {}) => previewPrompt(host, listing.of('prompt'), name, args, options),
  }
}

type Lists = Pick<Host, 'resources' | 'templates' | 'prompts' | 'on'>

/** The combined lists of all servers, rebuilt after changes. */
class Listing {
  readonly #lists: Lists
  #entries: readonly LibraryEntry[] | undefined
  #tree: { of: readonly LibraryEntry[]; nodes: LibraryNode[] } | undefined
  #listens = false

  constructor(lists: Lists) {
    this.#lists = lists
  }

  /** The same array while nothing changed. */
  get entries(): readonly LibraryEntry[] {
    this.#listen()
    this.#entries ??= [
      ...this.#lists.resources().map((entry) => ({ kind: 'resource' as const, ...entry })),
      ...this.#lists.templates().map((entry) => ({ kind: 'template' as const, ...entry })),
      ...this.#lists.prompts().map((entry) => ({
        kind: 'prompt' as const,
        ...entry,
        command: commandOf(entry),
      })),
    ]
    return this.#entries
  }

  /** The same array while nothing changed. */
  get tree(): LibraryNode[] {
    const { entries } = this
    if (this.#tree?.of !== entries) this.#tree = { of: entries, nodes: treeOf(entries) }
    return this.#tree.nodes
  }

  of<K extends LibraryEntry['kind']>(kind: K): Extract<LibraryEntry, { kind: K }>[] {
    const is = (entry: LibraryEntry): entry is Extract<LibraryEntry, { kind: K }> => entry.kind === kind
    return this.entries.filter(is)
  }

  #listen(): void {
    if (this.#listens) return
    this.#listens = true
    this.#lists.on(({ type }) => {
      if (type === 'catalog' || type === 'connection' || type === 'trust') this.#entries = undefined
    })
  }
}

/** Names that need no quotes and are unambiguous in `server.prompt`. */
const plainServer = /^[^\s.\\/"'`]+$/u
const plainPrompt = /^[^\s\\"'`]+$/u
const maxLength = 100

/** The name of a prompt after a slash. Qualified names contain no dot, so the two forms cannot collide. */
function commandOf({ name, server, prompt }: CatalogPrompt): string {
  const command = `${server}.${prompt.name}`
  const readable =
    plainServer.test(server) &&
    plainPrompt.test(prompt.name) &&
    command.length <= maxLength &&
    unseenIn(command).length === 0
  return readable ? command : name
}

const reason = 'its server marks it for the user only'

/** Knows which resources are for the user alone: listed ones and those of a template. */
class Withholding {
  readonly #listing: Listing
  #seen: readonly LibraryEntry[] | undefined
  #uris = new Set<string>()
  #templates: { server: string; template: UriTemplate }[] = []

  constructor(listing: Listing) {
    this.#listing = listing
  }

  /** Why a resource is not given to a model; undefined if it may be. */
  why(server: string, uri: string): string | undefined {
    this.#read()
    const listed = this.#uris.has(JSON.stringify([server, uri]))
    const matchesTemplate = (): boolean =>
      this.#templates.some((one) => one.server === server && one.template.match(uri) !== undefined)
    return listed || matchesTemplate() ? reason : undefined
  }

  #read(): void {
    const { entries } = this.#listing
    if (entries === this.#seen) return
    this.#seen = entries
    this.#uris = new Set()
    this.#templates = []
    for (const entry of entries) {
      if (entry.kind === 'resource' && isForPersonOnly(entry.resource.annotations)) {
        this.#uris.add(JSON.stringify([entry.server, entry.resource.uri]))
      }
      if (entry.kind === 'template' && isForPersonOnly(entry.template.annotations)) {
        const template = templateIn(entry.template.uriTemplate)
        if (template !== undefined) this.#templates.push({ server: entry.server, template })
      }
    }
  }
}

function templateIn(text: string): UriTemplate | undefined {
  try {
    return parseTemplate(text)
  } catch {
    // An invalid template matches nothing.
    return undefined
  }
}

const maxDepth = 24

interface Place {
  label: string
  entries: (CatalogResource | CatalogTemplate)[]
  children: Map<string, Place>
}

/** Resources and templates by server and URI segments, in list order. */
function treeOf(entries: Iterable<LibraryEntry>): LibraryNode[] {
  const servers = new Map<string, Place>()
  for (const entry of entries) {
    if (entry.kind === 'prompt') continue
    const { kind, ...rest } = entry
    const uri = 'resource' in rest ? rest.resource.uri : rest.template.uriTemplate
    let place = within(servers, entry.server)
    for (const segment of segmentsOf(uri)) place = within(place.children, segment)
    place.entries.push(rest)
  }
  return [...servers.values()].map(nodeOf)
}

/** The scheme, then every segment; a slash inside a template expression does not count. */
export function segmentsOf(uri: string): string[] {
  const scheme = /^[A-Za-z][A-Za-z0-9+.-]*:(?:\/\/\/?)?/.exec(uri)?.[0] ?? ''
  const segments: string[] = scheme === '' ? [] : [scheme]
  let begin = scheme.length
  let inside = false
  for (let at = begin; at < uri.length && segments.length < maxDepth - 1; at++) {
    const character = uri[at]
    if (character === '{') inside = true
    if (character === '}') inside = false
    if (character !== '/' || inside) continue
    if (at > begin) segments.push(uri.slice(begin, at))
    begin = at + 1
  }
  if (begin < uri.length) segments.push(uri.slice(begin))
  return segments
}

function within(places: Map<string, Place>, label: string): Place {
  const known = places.get(label)
  if (known !== undefined) return known
  const place: Place = { label, entries: [], children: new Map() }
  places.set(label, place)
  return place
}

function nodeOf({ label, entries, children }: Place): LibraryNode {
  const below = [...children.values()].map(nodeOf)
  const own = entries.filter((entry) => 'resource' in entry).length
  return {
    label,
    entries,
    children: below,
    resources: below.reduce((sum, node) => sum + node.resources, own),
    templates: below.reduce((sum, node) => sum + node.templates, entries.length - own),
  }
}
