import { statSync } from 'node:fs'
import { dirname, isAbsolute, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { McpError, type Tool } from '@jackfield/sdk'
import type { GrantKey, GrantTable, StoredGrant } from '../../log/store/answer-tables.ts'
import { fingerprint } from '../../shared/fingerprint.ts'
import { canonical, frozenCopy, isRecord, type JsonRecord } from '../../shared/json.ts'
import { reasonOf } from '../../shared/text.ts'
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

/** Whether a call comes from a gateway client of an unknown user, to whom no grant for a conversation applies. */
export function isOfUnknownUser({
  caller,
  conversation,
}: Partial<Pick<PolicySubject, 'caller' | 'conversation'>>): boolean {
  return caller === 'gateway' && conversation === undefined
}

/** Lasting grants are in `store`; those of a conversation are in memory and end with the host at the latest. */
export function createGrants(store: GrantTable, workspace: string | undefined): Grants {
  const conversationGrants = new Map<string, StoredGrant>()
  const readOnlyGrantsOf = (identity: string): [string, StoredGrant][] =>
    [...conversationGrants].filter(
      ([, { key }]) => key.definition.startsWith('server:') && key.identity === identity,
    )
  const all = (): StoredGrant[] =>
    [...store.list(), ...conversationGrants.values()].toSorted((a, b) =>
      a.at < b.at ? -1 : a.at > b.at ? 1 : 0,
    )
  return {
    find({ key, arguments: args, conversation, base, definitions }) {
      const readOnly = definitions === undefined ? undefined : readOnlyKey(key.identity, definitions)
      const candidates = [...store.find(key)]
      for (const grant of conversationGrants.values())
        if (isSameKey(grant.key, key) || (readOnly !== undefined && isSameKey(grant.key, readOnly)))
          candidates.push(grant)
      return candidates
        .filter(({ scope, within }) => {
          if (scope === 'conversation') return within === (conversation ?? '')
          return scope === 'always' || within === workspace
        })
        .filter((grant) =>
          testsHold(grant.arguments, args, grant.verdict === 'allow' ? 'every' : 'any', base),
        )
        .map(toGrant)
    },
    add({ key: toolKey, conversation, definitions }, verdict, remember, label) {
      const { scope, arguments: tests = [] } = remember
      const key =
        remember.readOnlyTools === true && definitions !== undefined
          ? readOnlyKey(toolKey.identity, definitions)
          : toolKey
      const within = { conversation: conversation ?? '', workspace: workspace ?? '', always: '' }[scope]
      const grant = { key, verdict, scope, within, arguments: tests, label, at: new Date().toISOString() }
      if (scope === 'conversation') conversationGrants.set(idOf(grant), grant)
      else store.put(grant)
    },
    removeExcept(identity, definitions) {
      for (const [id, { key }] of readOnlyGrantsOf(identity))
        if (key.definition !== `server:${definitions ?? ''}`) conversationGrants.delete(id)
    },
    coversReadOnly: (identity) => readOnlyGrantsOf(identity).length > 0,
    endConversation(conversation) {
      for (const [id, { within }] of conversationGrants)
        if (within === conversation) conversationGrants.delete(id)
    },
    list: () => all().map(toGrant),
    remove(id) {
      const match = all().find((grant) => idOf(grant) === id)
      if (match === undefined) return undefined
      if (match.scope === 'conversation') conversationGrants.delete(id)
      else store.remove(match)
      return toGrant(match)
    },
  }
}

/** Replaces the tool name in the key of a grant for all read-only tools of a server. */
const allReadOnlyTools = '*'

/** A regular tool with this name has a definition fingerprint in its key, which never equals a server's. */
function readOnlyKey(identity: string, definitions: string): GrantKey {
  return { identity, tool: allReadOnlyTools, definition: `server:${definitions}` }
}

function isSameKey(one: GrantKey, other: GrantKey): boolean {
  return one.identity === other.identity && one.tool === other.tool && one.definition === other.definition
}

function idOf({ key, scope, within, arguments: tests }: StoredGrant): string {
  return fingerprint([scope, within, key.identity, key.tool, key.definition, tests]).slice(0, 12)
}

function toGrant(grant: StoredGrant): Grant {
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

const maxExactCharacters = 16_384
const maxTests = 8

/** The patterns of similar calls that a grant can cover, narrowest first. Each matches the call itself. */
export function argumentPatternsOf(args: JsonRecord, base: string | undefined): ArgumentPattern[] {
  const fits = canonical(args).length <= maxExactCharacters
  const list: ArgumentPattern[] = [
    ...(fits && Object.keys(args).length > 0
      ? [{ label: 'exactly these arguments', arguments: [{ at: '', equals: args }] }]
      : []),
    ...similarPatterns(args, 'paths inside', folderTest),
    ...similarPatterns(args, 'addresses at', hostTest),
  ].filter((pattern) => testsHold(pattern.arguments, args, 'every', base))
  return [...list, { label: 'any arguments' }]
}

/** A pattern that tests every argument for which `test` returns one; the others may have any value. */
function similarPatterns(
  args: JsonRecord,
  labelPrefix: string,
  test: (value: string) => { test: Omit<ArgumentTest, 'at'>; name: string } | undefined,
): (ArgumentPattern & { arguments: readonly ArgumentTest[] })[] {
  const tested = Object.entries(args).flatMap(([name, value]) => {
    const texts = typeof value === 'string' ? [value] : Array.isArray(value) ? value : []
    const tests = texts.map((text) => (typeof text === 'string' ? test(text) : undefined))
    const [first] = tests
    if (first === undefined || tests.some((other) => canonical(other) !== canonical(first))) return []
    const pointer = `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
    return [{ at: Array.isArray(value) ? `${pointer}/*` : pointer, ...first }]
  })
  if (tested.length === 0 || tested.length > maxTests) return []
  const names = [...new Set(tested.map(({ name }) => name))].join(', ')
  return [
    {
      label: `${labelPrefix} ${names}`,
      arguments: tested.map(({ at, test: valueTest }) => ({ at, ...valueTest })),
    },
  ]
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
  return { server, identity, tool, arguments: args, caller, conversation, base, dataLabels: config.labels }
}

/**
 * A frozen copy of the arguments of a call.
 * @throws McpError 'INVALID' if they are not a JSON object
 */
export function frozenArguments(args: unknown): JsonRecord {
  let copy: unknown
  try {
    copy = frozenCopy(args)
  } catch (error) {
    throw new McpError('INVALID', `The arguments are not JSON: ${reasonOf(error)}`, { cause: error })
  }
  if (isRecord(copy)) return copy
  throw new McpError('INVALID', 'The arguments must be a JSON object')
}
