import type { Tool } from '@jackfield/sdk'
import type { GrantKey, GrantTable } from '../store/index.ts'
import { toolDefinition } from './identity.ts'

/** How long an answer is remembered: until the host closes, or in the store. */
export type GrantScope = 'session' | 'always'

export interface Grant {
  verdict: 'allow' | 'deny'
  scope: GrantScope
}

/** Answers that are remembered beyond one call. */
export interface Grants {
  find(key: GrantKey): Grant | undefined
  /** `label` names the server for a person who looks through the grants. */
  add(key: GrantKey, verdict: 'allow' | 'deny', scope: GrantScope, label: string): void
}

export function grantKey(identity: string, tool: Tool): GrantKey {
  return { identity, tool: tool.name, definition: toolDefinition(tool) }
}

/** Answers of this session in memory, lasting ones in `store`. A refusal of either kind wins. */
export function createGrants(store: GrantTable): Grants {
  const session = new Map<string, 'allow' | 'deny'>()
  const text = (key: GrantKey): string => JSON.stringify([key.identity, key.tool, key.definition])
  return {
    find(key) {
      const lasting = store.find(key)
      const passing = session.get(text(key))
      if (lasting === 'deny') return { verdict: 'deny', scope: 'always' }
      if (passing !== undefined) return { verdict: passing, scope: 'session' }
      return lasting === undefined ? undefined : { verdict: lasting, scope: 'always' }
    },
    add(key, verdict, scope, label) {
      if (scope === 'always') {
        session.delete(text(key))
        store.put(key, verdict, label)
      } else {
        session.set(text(key), verdict)
      }
    },
  }
}
