import type { Tool } from '@jackfield/sdk'
import type { GrantKey, GrantTable, StoredGrant } from '../../log/store/grant-table.ts'
import { canonical, fingerprint, type JsonRecord } from '../../shared/json.ts'
import type { Grant, Remember } from '../../types/index.ts'
import { testsHold } from './argument-tests.ts'
import { toolDefinition } from './identity.ts'

/** One call as remembered answers see it. */
export interface GrantSubject {
  key: GrantKey
  arguments: JsonRecord
  conversation: string | undefined
  /** The folder that relative paths count from, where known. */
  base: string | undefined
  /** The server's definitions, as `ServerDefinitions`, where the tool says that it is read-only and none of them waits to be accepted. */
  definitions: string | undefined
}

/** Answers that are remembered beyond one call. */
export interface Grants {
  /** Every answer that fits the call. */
  find(subject: GrantSubject): Grant[]
  /** `label` names the server for a person who looks through the answers. */
  add(subject: GrantSubject, verdict: 'allow' | 'deny', remember: Remember, label: string): void
  /** Forgets an answer about read-only tools of this server that was given for other definitions than these. */
  keepOnly(identity: string, definitions: string | undefined): void
  /** Whether there is an answer about read-only tools of this server. */
  coversReadOnly(identity: string): boolean
  /** Forgets the answers of a conversation that ended. */
  leave(conversation: string): void
  /** Oldest first. */
  list(): Grant[]
  /** Forgets one answer and tells which it was; undefined where there is none of that id. */
  remove(id: string): Grant | undefined
}

export function grantKey(identity: string, tool: Tool): GrantKey {
  return { identity, tool: tool.name, definition: toolDefinition(tool) }
}

/** Lasting answers are in `store`; those of a conversation are in memory and end with the host at the latest. */
export function createGrants(
  store: GrantTable,
  workspace: string | undefined,
  now: () => Date = () => new Date(),
): Grants {
  const passing = new Map<string, StoredGrant>()
  const readOnlyOf = (identity: string): [string, StoredGrant][] =>
    [...passing].filter(([, { key }]) => key.definition.startsWith('server:') && key.identity === identity)
  const all = (): StoredGrant[] =>
    [...store.list(), ...passing.values()].toSorted((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0))
  return {
    find: ({ key, arguments: args, conversation, base, definitions }) =>
      [
        ...store.find(key),
        ...[...passing.values()].filter(
          (grant) =>
            canonical(grant.key) === canonical(key) ||
            (definitions !== undefined &&
              canonical(grant.key) === canonical(readOnlyKey(key.identity, definitions))),
        ),
      ]
        .filter(({ scope, within }) => {
          if (scope === 'conversation') return within === (conversation ?? '')
          return scope === 'always' || within === workspace
        })
        .filter((grant) =>
          testsHold(grant.arguments, args, grant.verdict === 'allow' ? 'every' : 'any', base),
        )
        .map(shown),
    add({ key: own, conversation, definitions }, verdict, remember, label) {
      const { scope, arguments: tests = [] } = remember
      const key =
        remember.readOnlyTools === true && definitions !== undefined
          ? readOnlyKey(own.identity, definitions)
          : own
      const within = { conversation: conversation ?? '', workspace: workspace ?? '', always: '' }[scope]
      const grant = { key, verdict, scope, within, arguments: tests, label, at: now().toISOString() }
      if (scope === 'conversation') passing.set(idOf(grant), grant)
      else store.put(grant)
    },
    keepOnly(identity, definitions) {
      for (const [id, { key }] of readOnlyOf(identity))
        if (key.definition !== `server:${definitions ?? ''}`) passing.delete(id)
    },
    coversReadOnly: (identity) => readOnlyOf(identity).length > 0,
    leave(conversation) {
      for (const [id, { within }] of passing) if (within === conversation) passing.delete(id)
    },
    list: () => all().map(shown),
    remove(id) {
      const found = all().find((grant) => idOf(grant) === id)
      if (found === undefined) return undefined
      if (found.scope === 'conversation') passing.delete(id)
      else store.remove(found)
      return shown(found)
    },
  }
}

/** Takes the place of a tool name in the key of an answer about all read-only tools of a server. */
const readOnlyTools = '*'

/** A tool of this name has the fingerprint of one definition in its key, which no fingerprint of a server's equals. */
function readOnlyKey(identity: string, definitions: string): GrantKey {
  return { identity, tool: readOnlyTools, definition: `server:${definitions}` }
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
