import type { Prompt, Resource, ResourceTemplate, Tool } from '@jackfield/sdk'
import type { SecretRedactor } from '../../config/secrets/redactor.ts'
import type { DefinitionText, TrustRow, TrustTable, TrustWriter } from '../../log/store/trust-table.ts'
import { fingerprint } from '../../shared/fingerprint.ts'
import { isRecord, type JsonRecord } from '../../shared/json.ts'
import type { TrustItem } from '../../types/index.ts'

/** The definitions of one server. */
export interface ServerLists {
  readonly tools: readonly Tool[]
  readonly prompts: readonly Prompt[]
  readonly resources: readonly Resource[]
  readonly templates: readonly ResourceTemplate[]
}

/** Lists that were not fetched. All are the same array, which distinguishes them from a fetched empty list. */
export const noLists: ServerLists = { tools: [], prompts: [], resources: [], templates: [] }

export type DefinitionKind = TrustItem['what']
type ListedKind = Exclude<DefinitionKind, 'instructions'>

/** One definition of a server. Its name and content contain no known secret. */
export interface Definition extends TrustItem {
  /** Its content as models and users see it. */
  content: JsonRecord
  /** SHA-256 of the original definition. */
  hash: string
}

const nameMembers: Readonly<Record<ListedKind, string>> = {
  tool: 'name',
  prompt: 'name',
  resource: 'uri',
  template: 'uriTemplate',
}

/** Reads definitions of servers. Comparisons use the original; what is shown and stored is redacted. */
export class Definitions {
  readonly #redactor: Pick<SecretRedactor, 'value'>
  readonly #definitions = new WeakMap<object, Definition>()

  constructor(redactor: Pick<SecretRedactor, 'value'>) {
    this.#redactor = redactor
  }

  /** The definition of a list entry, without members that change with a resource's data. */
  of(what: ListedKind, entry: object): Definition {
    const known = this.#definitions.get(entry)
    if (known !== undefined) return known
    const content: JsonRecord = { ...entry }
    if (what === 'resource') {
      delete content['size']
      delete content['annotations']
    }
    const definition = this.#shown(what, nameMembers[what], content)
    this.#definitions.set(entry, definition)
    return definition
  }

  instructions(text: string): Definition {
    return this.#shown('instructions', undefined, { text })
  }

  /**
   * A server's current definitions, by kind. Kinds whose list was not fetched are absent, and so are the instructions if unknown.
   */
  all(
    lists: ServerLists,
    server: { instructions?: string | undefined } | undefined,
  ): Map<DefinitionKind, Map<string, Definition>> {
    const definitions = new Map<DefinitionKind, Map<string, Definition>>()
    if (server !== undefined) {
      const { instructions } = server
      definitions.set(
        'instructions',
        byName(instructions === undefined ? [] : [this.instructions(instructions)]),
      )
    }
    const add = (what: ListedKind, entries: readonly object[], notFetched: readonly object[]): void => {
      if (entries !== notFetched) definitions.set(what, byName(entries.map((entry) => this.of(what, entry))))
    }
    add('tool', lists.tools, noLists.tools)
    add('prompt', lists.prompts, noLists.prompts)
    add('resource', lists.resources, noLists.resources)
    add('template', lists.templates, noLists.templates)
    return definitions
  }

  #shown(what: DefinitionKind, name: string | undefined, content: JsonRecord): Definition {
    const redacted = this.#redactor.value(content)
    const shownName = name === undefined ? what : String(redacted[name])
    return { what, name: shownName, content: redacted, hash: fingerprint(content) }
  }
}

/** The first of each name; duplicates are not offered. */
function byName(definitions: readonly Definition[]): Map<string, Definition> {
  const firstByName = new Map<string, Definition>()
  for (const definition of definitions) {
    if (!firstByName.has(definition.name)) firstByName.set(definition.name, definition)
  }
  return firstByName
}

/** Members that some revisions do not have: the first revision with them, and the last. */
const members: readonly [name: string, since: string, until?: string][] = [
  ['annotations', '2025-03-26'],
  ['title', '2025-06-18'],
  ['outputSchema', '2025-06-18'],
  ['_meta', '2025-06-18'],
  ['icons', '2025-11-25'],
  ['execution', '2025-11-25', '2025-11-25'],
]

/**
 * Whether a definition equals the accepted one. Members that do not exist in the negotiated revision, or in any revision in which
 * the definition was accepted, are not compared.
 */
export function isAgreed(
  { agreed }: TrustRow,
  definition: Definition,
  revision: string | undefined,
): boolean {
  if (agreed === undefined || agreed.hash === definition.hash) return agreed !== undefined
  if (linksApp(agreed.content) !== linksApp(definition.content)) {
    const [before, now] = [withoutApp(agreed.content), withoutApp(definition.content)]
    if (fingerprint(before) === fingerprint(now)) return true
  }
  if (revision === undefined) return false
  const uncompared = new Set([...missingIn([revision]), ...missingIn(agreed.revisions)])
  const before = withoutMembers(agreed.content, uncompared)
  const now = withoutMembers(definition.content, uncompared)
  // With all members compared, the hash of the original definition decided, secrets included.
  const comparesAll =
    fingerprint(before) === fingerprint(agreed.content) &&
    fingerprint(now) === fingerprint(definition.content)
  return !comparesAll && fingerprint(before) === fingerprint(now)
}

/**
 * Servers declare a tool's app only to hosts with apps, and one store serves both kinds of hosts. So the presence of the link is
 * no change, but its value is, and every page is accepted separately.
 */
function withoutApp(content: JsonRecord): JsonRecord {
  const { _meta: meta, ...rest } = content
  if (!isRecord(meta)) return content
  const { ui: _ui, 'ui/resourceUri': _uri, ...others } = meta
  return Object.keys(others).length === 0 ? rest : { ...rest, _meta: others }
}

function linksApp({ _meta: meta }: JsonRecord): boolean {
  return isRecord(meta) && (Object.hasOwn(meta, 'ui') || Object.hasOwn(meta, 'ui/resourceUri'))
}

/**
 * The accepted definition with members of the negotiated revision that earlier revisions did not have: they are accepted as at
 * first use. Returned unchanged if there are none.
 */
export function withRevision(
  agreed: DefinitionText,
  { content, hash }: Pick<Definition, 'content' | 'hash'>,
  revision: string | undefined,
): DefinitionText {
  if (revision === undefined || agreed.revisions?.includes(revision)) return agreed
  const revisions = [...(agreed.revisions ?? []), revision].toSorted()
  const here = missingIn([revision])
  const added = missingIn(agreed.revisions).filter((name) => !here.includes(name))
  const extended = withMembersOf(agreed.content, content, added)
  const isSame = fingerprint(extended) === fingerprint(agreed.content)
  const isCurrent = fingerprint(extended) === fingerprint(content)
  return {
    ...agreed,
    ...(!isSame && { content: extended, hash: isCurrent ? hash : fingerprint(extended) }),
    revisions,
  }
}

/** Whether the members to be added exist. */
export function addsMembers(
  agreed: DefinitionText,
  definition: Definition,
  revision: string | undefined,
): boolean {
  return withRevision(agreed, definition, revision).content !== agreed.content
}

/** The members that none of these revisions has; empty if the revisions are unknown. */
function missingIn(revisions: readonly string[] | undefined): string[] {
  if (revisions === undefined) return []
  return members.flatMap(([name, since, until = '9999']) =>
    revisions.some((revision) => since <= revision && revision <= until) ? [] : [name],
  )
}

function withoutMembers(content: JsonRecord, names: ReadonlySet<string>): JsonRecord {
  const rest = (value: JsonRecord): JsonRecord =>
    Object.fromEntries(Object.entries(value).filter(([name]) => !names.has(name)))
  return eachArgument(rest(content), rest)
}

/** The first, with members of these names from the second. */
function withMembersOf(agreed: JsonRecord, content: JsonRecord, names: readonly string[]): JsonRecord {
  const join = (one: JsonRecord, other: JsonRecord): JsonRecord => ({
    ...one,
    ...Object.fromEntries(names.flatMap((name) => (Object.hasOwn(other, name) ? [[name, other[name]]] : []))),
  })
  const offered = Array.isArray(content['arguments']) ? content['arguments'] : []
  return eachArgument(join(agreed, content), (argument, index) => {
    const other: unknown = offered[index]
    return isRecord(other) ? join(argument, other) : argument
  })
}

/** A definition with every argument of a prompt changed. */
function eachArgument(
  content: JsonRecord,
  change: (argument: JsonRecord, index: number) => JsonRecord,
): JsonRecord {
  const list = content['arguments']
  if (!Array.isArray(list)) return content
  return {
    ...content,
    arguments: list.map((argument: unknown, index) =>
      isRecord(argument) ? change(argument, index) : argument,
    ),
  }
}

type Rows = Map<string, TrustRow>

/** The rows of the store, cached while no other program writes to it. */
export class TrustRowCache {
  readonly #table: TrustTable
  readonly #rows = new Map<string, Rows>()
  #version: number | undefined

  constructor(table: TrustTable) {
    this.#table = table
  }

  /** All rows of one server. Do not cache it: another program may change it. */
  rows(identity: string): ReadonlyMap<string, TrustRow> {
    const version = this.#table.version()
    if (version !== this.#version) this.#rows.clear()
    this.#version = version
    const known = this.#rows.get(identity)
    if (known !== undefined) return known
    const rows = new Map(this.#table.rows(identity).map((row) => [keyOf(row), row] as const))
    this.#rows.set(identity, rows)
    return rows
  }

  names: TrustTable['names'] = (key) => this.#table.names(key)

  servers: TrustTable['servers'] = () => this.#table.servers()

  write(identity: string, work: (writer: TrustWriter) => void): void {
    this.#rows.delete(identity)
    this.#table.write(work)
  }
}

export function keyOf({ what, name }: TrustItem): string {
  return `${what} ${name}`
}
