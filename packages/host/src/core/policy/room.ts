import { realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Store } from '../../log/store/store.ts'
import { canonical } from '../../shared/json.ts'
import type { PolicyDesk, PolicyRule, Verdict } from '../../types/index.ts'
import { createDesk, type DeskDeps } from './desk.ts'
import { createGrants } from './grants.ts'
import { createLabels } from './labels.ts'
import { createPolicy, type Policy, type ServerDefinitions } from './policy.ts'

export interface PolicyRoomOptions extends Pick<DeskDeps, 'find' | 'recorder' | 'refuseWhenClosed'> {
  rules: readonly PolicyRule[]
  defaultVerdict: Verdict | undefined
  /** The folder that answers can be remembered for. */
  workspace: string | undefined
  store: Store
  definitions: (server: string) => ServerDefinitions | undefined
}

/** The policy for whoever decides by it, and the desk for whoever looks at it. */
export interface PolicyRoom {
  policy: Policy
  desk: PolicyDesk
  /** Forgets the answers of a conversation that ended. */
  leave(conversation: string): void
  /**
   * Decides by these rules from now on; remembered answers stay. False where they are those there are.
   * @throws McpError 'INVALID' for a rule that cannot be followed; those there are then go on
   */
  reload(next: Pick<PolicyRoomOptions, 'rules' | 'defaultVerdict'>): boolean
}

export function createPolicyRoom(options: PolicyRoomOptions): PolicyRoom {
  const { rules, defaultVerdict, store, definitions, ...deps } = options
  const workspace = options.workspace === undefined ? undefined : resolved(options.workspace)
  const grants = createGrants(store.grants, workspace)
  const labels = createLabels(store.labels)
  const made = (next: Pick<PolicyRoomOptions, 'rules' | 'defaultVerdict'>): Policy =>
    createPolicy({ ...next, grants, labels, definitions, workspace: workspace !== undefined })
  let current = made({ rules, defaultVerdict })
  const policy: Policy = {
    get rules() {
      return current.rules
    },
    get defaultVerdict() {
      return current.defaultVerdict
    },
    decide: (...given) => current.decide(...given),
    decideResult: (...given) => current.decideResult(...given),
    remember: (...given) => current.remember(...given),
    saw: (...given) => current.saw(...given),
  }
  return {
    policy,
    desk: createDesk({ ...deps, policy, grants, log: store.activity }),
    leave: (conversation) => grants.leave(conversation),
    reload(next) {
      const { recorder } = options
      const after = made(next)
      const isSame =
        canonical(after.rules) === canonical(current.rules) && after.defaultVerdict === current.defaultVerdict
      if (isSame) return false
      const count = after.rules.length
      const summary = `The policy is another one now: ${count} ${count === 1 ? 'rule' : 'rules'}, else ${after.defaultVerdict}`
      const detail = { rules: after.rules, defaultVerdict: after.defaultVerdict }
      recorder.note({ kind: 'approval', server: null, summary, detail }, 'changed')
      current = after
      return true
    },
  }
}

/** One name for one folder, whatever links lead to it. */
function resolved(folder: string): string {
  try {
    return realpathSync(folder)
  } catch {
    return resolve(folder)
  }
}
