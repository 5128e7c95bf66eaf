import { parseTemplate, type UriTemplate } from '@jackfield/sdk'
import { defined } from '@jackfield/sdk/internal'
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
import { previewOf, tokensOf, toMessages } from './contents.ts'
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
  const entryList = new EntryList(host)
  const index = new LibraryIndex()
  const completions = new Completions(host)
  const personOnly = new PersonOnlyResources(entryList)
  const withheldReason = (server: string, uri: string): string | undefined =>
    personOnly.withheldReason(server, uri)
  const titleOf = ({ server, uri }: ResourceRef): string => {
    const listed = entryList
      .ofKind('resource')
      .find((entry) => entry.server === server && entry.resource.uri === uri)
    return listed?.resource.title ?? listed?.resource.name ?? uri
  }
  const copies = new Copies({
    host,
    titleOf,
    changed: (conversation) => emit({ type: 'attached', conversation }),
  })
  let lastInclusion: Promise<unknown> = Promise.resolve()
  /** By conversation: excluded resources, or `all`. */
  const excludedByConversation = new Map<string, Set<string> | 'all'>()

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
    const withheld = withheldReason(text.server, text.uri)
    return { entry, score, content: { snippet, readAt: text.readAt, ...defined({ withheld }) } }
  }

  return {
    tree: () => entryList.tree,
    search(query, { content = false, ...options } = {}) {
      index.update(entryList.entries)
      const contentUnavailable = content ? texts?.unavailable : undefined
      const result = index.search(query, options, content ? (words) => texts?.find(words) ?? [] : undefined)
      const matches = result.matches.flatMap((match) => matchOf(match, result.words) ?? [])
      return {
        matches,
        total: result.total - (result.matches.length - matches.length),
        ...defined({ contentUnavailable }),
      }
    },
    async preview(server, uri, { characters = defaultCharacters, signal } = {}) {
      const { contents } = await host.read(server, uri, defined({ signal }))
      return {
        server,
        uri,
        contents: previewOf(contents, characters),
        tokens: tokensOf(toMessages(contents)),
        ...defined({ withheld: withheldReason(server, uri) }),
      }
    },
    withheld: withheldReason,
    fields: fieldsOf,
    expand,
    complete: (field, { signal } = {}) => completions.complete(field, signal),
    attach: (conversation, refs, { signal } = {}) =>
      attach(copies, withheldReason, conversation, refs, signal),
    attached: (conversation) => copies.list(conversation),
    detach(conversation, ref) {
      const key = ref && keyOf(ref)
      copies.remove(conversation, (copy) => key === undefined || keyOf(copy) === key)
      if (ref === undefined) excludedByConversation.delete(conversation)
    },
    diff: (conversation, ref, { signal } = {}) => copies.diff(conversation, ref, signal),
    include(conversation, { budget, priority, skip, signal } = {}) {
      const excluded = (ref: ResourceRef): string | undefined => {
        const excludedKeys = excludedByConversation.get(conversation)
        if (excludedKeys === 'all') return 'automatic attachments are off in this conversation'
        return excludedKeys?.has(keyOf(ref)) === true ? 'you removed it' : undefined
      }
      // Sequential, since all of them use the same budget.
      const done = lastInclusion.then(() =>
        include({
          ...{ copies, resources: entryList.ofKind('resource'), withheld: withheldReason, excluded },
          ...{ conversation, budget, priority, skip, signal },
        }),
      )
      lastInclusion = done.catch(() => {})
      return done
    },
    exclude(conversation, ref) {
      const previous = excludedByConversation.get(conversation)
      if (ref === undefined || previous === 'all') excludedByConversation.set(conversation, 'all')
      else excludedByConversation.set(conversation, new Set([...(previous ?? []), keyOf(ref)]))
      copies.remove(
        conversation,
        (copy) => copy.because !== undefined && (ref === undefined || keyOf(copy) === keyOf(ref)),
      )
    },
    prompts: () => entryList.ofKind('prompt').map(({ kind: _kind, ...prompt }) => prompt),
    prompt: (name, args, options = {}) =>
      previewPrompt(host, entryList.ofKind('prompt'), name, args, options),
  }
}

type Lists = Pick<Host, 'resources' | 'templates' | 'prompts' | 'on'>

/** The combined lists of all servers, rebuilt after changes. */
class EntryList {
  readonly #lists: Lists
  #entries: readonly LibraryEntry[] | undefined
  #tree: { entries: readonly LibraryEntry[]; nodes: LibraryNode[] } | undefined
  #isListening = false

  constructor(lists: Lists) {
    this.#lists = lists
  }

  /** The same array while nothing changed. */
  get entries(): readonly LibraryEntry[] {
    this.#listenOnce()
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
    if (this.#tree?.entries !== entries) this.#tree = { entries, nodes: treeOf(entries) }
    return this.#tree.nodes
  }

  ofKind<K extends LibraryEntry['kind']>(kind: K): Extract<LibraryEntry, { kind: K }>[] {
    const isKind = (entry: LibraryEntry): entry is Extract<LibraryEntry, { kind: K }> => entry.kind === kind
    return this.entries.filter(isKind)
  }

  #listenOnce(): void {
    if (this.#isListening) return
    this.#isListening = true
    this.#lists.on(({ type }) => {
      if (type === 'catalog' || type === 'connection' || type === 'trust') this.#entries = undefined
    })
  }
}

/** Names that need no quotes and are unambiguous in `server.prompt`. */
const plainServer = /^[^\s.\\/"'`]+$/u
const plainPrompt = /^[^\s\\"'`]+$/u
const maxCommandLength = 100

/** The name of a prompt after a slash. Qualified names contain no dot, so the two forms cannot collide. */
function commandOf({ name, server, prompt }: CatalogPrompt): string {
  const command = `${server}.${prompt.name}`
  const isReadable =
    plainServer.test(server) &&
    plainPrompt.test(prompt.name) &&
    command.length <= maxCommandLength &&
    unseenIn(command).length === 0
  return isReadable ? command : name
}

const personOnlyReason = 'its server marks it for the user only'

/** Knows which resources are for the user alone: listed ones and those of a template. */
class PersonOnlyResources {
  readonly #listing: EntryList
  #seen: readonly LibraryEntry[] | undefined
  #uris = new Set<string>()
  #templates: { server: string; template: UriTemplate }[] = []

  constructor(entryList: EntryList) {
    this.#listing = entryList
  }

  /** Why a resource is not given to a model; undefined if it may be. */
  withheldReason(server: string, uri: string): string | undefined {
    this.#read()
    const listed = this.#uris.has(JSON.stringify([server, uri]))
    const matchesTemplate = (): boolean =>
      this.#templates.some((one) => one.server === server && one.template.match(uri) !== undefined)
    return listed || matchesTemplate() ? personOnlyReason : undefined
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

interface TreeNode {
  label: string
  entries: (CatalogResource | CatalogTemplate)[]
  children: Map<string, TreeNode>
}

/** Resources and templates by server and URI segments, in list order. */
function treeOf(entries: Iterable<LibraryEntry>): LibraryNode[] {
  const servers = new Map<string, TreeNode>()
  for (const entry of entries) {
    if (entry.kind === 'prompt') continue
    const { kind, ...rest } = entry
    const uri = 'resource' in rest ? rest.resource.uri : rest.template.uriTemplate
    let place = nodeFor(servers, entry.server)
    for (const segment of segmentsOf(uri)) place = nodeFor(place.children, segment)
    place.entries.push(rest)
  }
  return [...servers.values()].map(nodeOf)
}

/** The scheme, then every segment; a slash inside a template expression does not count. */
export function segmentsOf(uri: string): string[] {
  const scheme = /^[A-Za-z][A-Za-z0-9+.-]*:(?:\/\/\/?)?/.exec(uri)?.[0] ?? ''
  const segments: string[] = scheme === '' ? [] : [scheme]
  let segmentStart = scheme.length
  let isInExpression = false
  for (let index = segmentStart; index < uri.length && segments.length < maxDepth - 1; index++) {
    const character = uri[index]
    if (character === '{') isInExpression = true
    if (character === '}') isInExpression = false
    if (character !== '/' || isInExpression) continue
    if (index > segmentStart) segments.push(uri.slice(segmentStart, index))
    segmentStart = index + 1
  }
  if (segmentStart < uri.length) segments.push(uri.slice(segmentStart))
  return segments
}

function nodeFor(nodes: Map<string, TreeNode>, label: string): TreeNode {
  const known = nodes.get(label)
  if (known !== undefined) return known
  const place: TreeNode = { label, entries: [], children: new Map() }
  nodes.set(label, place)
  return place
}

function nodeOf({ label, entries, children }: TreeNode): LibraryNode {
  const childNodes = [...children.values()].map(nodeOf)
  const resourceCount = entries.filter((entry) => 'resource' in entry).length
  return {
    label,
    entries,
    children: childNodes,
    resources: childNodes.reduce((sum, node) => sum + node.resources, resourceCount),
    templates: childNodes.reduce((sum, node) => sum + node.templates, entries.length - resourceCount),
  }
}
