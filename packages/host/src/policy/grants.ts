import type { Tool } from '@jackfield/sdk'
import { fingerprint } from '../json.ts'
import type { GrantKey, GrantTable, StoredGrant } from '../store/index.ts'
import type { Grant, GrantScope } from '../types/index.ts'
import { toolDefinition } from './identity.ts'

export type { GrantScope }

/** Answers that are remembered beyond one call. */
export interface Grants {
  find(key: GrantKey): Pick<Grant, 'verdict' | 'scope'> | undefined
  /** `label` names the server for a person who looks through the grants. */
  add(key: GrantKey, verdict: 'allow' | 'deny', scope: GrantScope, label: string): void
  /** Oldest first. */
  list(): Grant[]
  /** Forgets one answer and tells which it was; undefined where there is none of that id. */
  remove(id: string): Grant | undefined
}

export function grantKey(identity: string, tool: Tool): GrantKey {
  return { identity, tool: tool.name, definition: toolDefinition(tool) }
}

/** Answers of this session in memory, lasting ones in `store`. A refusal of either kind wins. */
export function createGrants(store: GrantTable): Grants {
  const session = new Map<string, StoredGrant>()
  const text = (key: GrantKey): string => JSON.stringify([key.identity, key.tool, key.definition])
  const all = (): { key: GrantKey; grant: Grant }[] =>
    [
      ...store.list().map((stored) => named(stored, 'always')),
      ...[...session.values()].map((stored) => named(stored, 'conversation')),
    ].toSorted((a, b) => (a.grant.at < b.grant.at ? -1 : 1))
  return {
    find(key) {
      const lasting = store.find(key)
      const passing = session.get(text(key))?.verdict
      if (lasting === 'deny') return { verdict: 'deny', scope: 'always' }
      if (passing !== undefined) return { verdict: passing, scope: 'conversation' }
      return lasting === undefined ? undefined : { verdict: lasting, scope: 'always' }
    },
    add(key, verdict, scope, label) {
      if (scope === 'always') {
        session.delete(text(key))
        store.put(key, verdict, label)
      } else {
        session.set(text(key), { key, verdict, label, at: new Date().toISOString() })
      }
    },
    list: () => all().map(({ grant }) => grant),
    remove(id) {
      const found = all().find(({ grant }) => grant.id === id)
      if (found === undefined) return undefined
      if (found.grant.scope === 'always') store.remove(found.key)
      else session.delete(text(found.key))
      return found.grant
    },
  }
}

function named({ key, verdict, label, at }: StoredGrant, scope: GrantScope): { key: GrantKey; grant: Grant } {
  const id = fingerprint([scope, key.identity, key.tool, key.definition]).slice(0, 12)
  return { key, grant: { id, server: label, tool: key.tool, verdict, scope, at } }
}
