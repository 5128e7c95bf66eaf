import { statSync } from 'node:fs'
import { dirname, isAbsolute, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Tool } from '@jackfield/sdk'
import type { GrantKey, GrantTable, StoredGrant } from '../../log/store/answer-tables.ts'
import { fingerprint } from '../../shared/fingerprint.ts'
import { canonical, type JsonRecord } from '../../shared/json.ts'
import type {
  ArgumentTest,
  Caller,
  CatalogTool,
  Grant,
  Question,
  Remember,
  ServerConfig,
} from '../../types/index.ts'
import { toolDefinition } from './identity.ts'
import type { PolicySubject } from './policy.ts'
import { testsHold } from './rules.ts'

/** One call as grants see it. */
export interface GrantSubject {
  key: GrantKey
  arguments: JsonRecord
  conversation: string | undefined
  /** The base folder of relative paths, if known. */
  base: string | undefined
  /**
   * The fingerprint of the server's definitions, as in `ServerDefinitions`, if the tool declares itself read-only and all
   * definitions are accepted.
   */
  definitions: string | undefined
}

/** Answers that apply beyond one call. */
export interface Grants {
  /** Every grant that matches the call. */
  find(subject: GrantSubject): Grant[]
  /** `label` names the server in lists of grants. */
  add(subject: GrantSubject, verdict: 'allow' | 'deny', remember: Remember, label: string): void
  /** Removes a grant for read-only tools of this server that was given for other definitions. */
  removeExcept(identity: string, definitions: string | undefined): void
  /** Whether there is a grant for read-only tools of this server. */
  coversReadOnly(identity: string): boolean
  /** Removes the grants of a conversation that ended. */
  endConversation(conversation: string): void
  /** Oldest first. */
  list(): Grant[]
  /** Removes one grant and returns it; undefined if there is none with that id. */
  remove(id: string): Grant | undefined
}

export function grantKey(identity: string, tool: Tool): GrantKey {
  return { identity, tool: tool.name, definition: toolDefinition(tool) }
}

/** Lasting grants are in `store`; those of a conversation are in memory and end with the host at the latest. */
export function createGrants(store: GrantTable, workspace: string | undefined): Grants {
  const passing = new Map<string, StoredGrant>()
  const readOnlyOf = (identity: string): [string, StoredGrant][] =>
    [...passing].filter(([, { key }]) => key.definition.startsWith('server:') && key.identity === identity)
  const all = (): StoredGrant[] =>
    [...store.list(), ...passing.values()].toSorted((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0))
  return {
    find({ key, arguments: args, conversation, base, definitions }) {
      const readOnly = definitions === undefined ? undefined : readOnlyKey(key.identity, definitions)
      const fitting = [...store.find(key)]
      for (const grant of passing.values())
        if (isSame(grant.key, key) || (readOnly !== undefined && isSame(grant.key, readOnly)))
          fitting.push(grant)
      return fitting
        .filter(({ scope, within }) => {
          if (scope === 'conversation') return within === (conversation ?? '')
          return scope === 'always' || within === workspace
        })
        .filter((grant) =>
          testsHold(grant.arguments, args, grant.verdict === 'allow' ? 'every' : 'any', base),
        )
        .map(shown)
    },
    add({ key: own, conversation, definitions }, verdict, remember, label) {
      const { scope, arguments: tests = [] } = remember
      const key =
        remember.readOnlyTools === true && definitions !== undefined
          ? readOnlyKey(own.identity, definitions)
          : own
      const within = { conversation: conversation ?? '', workspace: workspace ?? '', always: '' }[scope]
      const grant = { key, verdict, scope, within, arguments: tests, label, at: new Date().toISOString() }
      if (scope === 'conversation') passing.set(idOf(grant), grant)
      else store.put(grant)
    },
    removeExcept(identity, definitions) {
      for (const [id, { key }] of readOnlyOf(identity))
        if (key.definition !== `server:${definitions ?? ''}`) passing.delete(id)
    },
    coversReadOnly: (identity) => readOnlyOf(identity).length > 0,
    endConversation(conversation) {
      for (const [id, { within }] of passing) if (within === conversation) passing.delete(id)
    },
    list: () => all().map(shown),
    remove(id) {
      const match = all().find((grant) => idOf(grant) === id)
      if (match === undefined) return undefined
      if (match.scope === 'conversation') passing.delete(id)
      else store.remove(match)
      return shown(match)
    },
  }
}

/** Replaces the tool name in the key of a grant for all read-only tools of a server. */
const readOnlyTools = '*'

/** A regular tool with this name has a definition fingerprint in its key, which never equals a server's. */
function readOnlyKey(identity: string, definitions: string): GrantKey {
  return { identity, tool: readOnlyTools, definition: `server:${definitions}` }
}

function isSame(one: GrantKey, other: GrantKey): boolean {
  return one.identity === other.identity && one.tool === other.tool && one.definition === other.definition
}

function idOf({ key, scope, within, arguments: tests }: StoredGrant): string {
  return fingerprint([scope, within, key.identity, key.tool, key.definition, tests]).slice(0, 12)
}

function shown(grant: StoredGrant): Grant {
  const { key, verdict, scope, within, label, at } = grant
  return {
    id: idOf(grant),
    server: label,
    tool: key.tool,
    verdict,
    scope,
    ...(key.definition.startsWith('server:') && { readOnlyTools: true as const }),
    ...(within !== '' && { within }),
    ...(grant.arguments.length > 0 && { arguments: grant.arguments }),
    at,
  }
}

type ArgumentPattern = Question<'approval'>['likeness'][number]

const maxExact = 16_384
const maxNamed = 8

/** The patterns of similar calls that a grant can cover, narrowest first. Each matches the call itself. */
export function argumentPatternsOf(args: JsonRecord, base: string | undefined): ArgumentPattern[] {
  const exact = canonical(args).length <= maxExact
  const list: ArgumentPattern[] = [
    ...(exact && Object.keys(args).length > 0
      ? [{ label: 'exactly these arguments', arguments: [{ at: '', equals: args }] }]
      : []),
    ...similarTest(args, 'paths inside', folderTest),
    ...similarTest(args, 'addresses at', hostTest),
  ].filter((pattern) => testsHold(pattern.arguments, args, 'every', base))
  return [...list, { label: 'any arguments' }]
}

/** A pattern that tests every argument for which `test` returns one; the others may have any value. */
function similarTest(
  args: JsonRecord,
  words: string,
  test: (value: string) => { test: Omit<ArgumentTest, 'at'>; name: string } | undefined,
): (ArgumentPattern & { arguments: readonly ArgumentTest[] })[] {
  const known = Object.entries(args).flatMap(([name, value]) => {
    const texts = typeof value === 'string' ? [value] : Array.isArray(value) ? value : []
    const tests = texts.map((text) => (typeof text === 'string' ? test(text) : undefined))
    const [first] = tests
    if (first === undefined || tests.some((other) => canonical(other) !== canonical(first))) return []
    const at = `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
    return [{ at: Array.isArray(value) ? `${at}/*` : at, ...first }]
  })
  if (known.length === 0 || known.length > maxNamed) return []
  const names = [...new Set(known.map(({ name }) => name))].join(', ')
  return [{ label: `${words} ${names}`, arguments: known.map(({ at, test: made }) => ({ at, ...made })) }]
}

function folderTest(text: string): { test: Omit<ArgumentTest, 'at'>; name: string } | undefined {
  const path = pathOf(text)
  if (path === undefined) return undefined
  const folder = isFolder(path) ? path : dirname(path)
  return folder === dirname(folder) ? undefined : { test: { inside: [folder] }, name: folder }
}

function pathOf(text: string): string | undefined {
  try {
    const path = /^file:/i.test(text) ? fileURLToPath(text) : text
    return isAbsolute(path) && !/[\0\n\r]/.test(path) ? resolve(path) : undefined
  } catch {
    return undefined
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}

function hostTest(text: string): { test: Omit<ArgumentTest, 'at'>; name: string } | undefined {
  const url = /^https?:\/\//i.test(text) ? URL.parse(text) : null
  if (url === null || url.username !== '' || url.password !== '' || /[*?]/.test(url.host)) return undefined
  return { test: { glob: `${url.origin}/*` }, name: url.origin }
}

/** A call as policy sees it. */
export function subjectOf(
  { server, tool }: CatalogTool,
  { identity, config }: { identity: string; config: ServerConfig },
  args: JsonRecord,
  { caller, conversation }: { caller: Caller; conversation?: string | undefined },
): PolicySubject {
  const base = 'command' in config ? (config.cwd ?? process.cwd()) : undefined
  return { server, identity, tool, arguments: args, caller, conversation, base, gives: config.labels }
}
