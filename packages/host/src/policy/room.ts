import { realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Store } from '../store/index.ts'
import type { PolicyDesk, PolicyRule, Verdict } from '../types/index.ts'
import { createDesk, type DeskDeps } from './desk.ts'
import { createGrants } from './grants.ts'
import { createLabels } from './labels.ts'
import { createPolicy, type Policy } from './policy.ts'

export interface PolicyRoomOptions extends Pick<DeskDeps, 'find' | 'recorder' | 'refuseWhenClosed'> {
  rules: readonly PolicyRule[]
  defaultVerdict: Verdict | undefined
  /** The folder that answers can be remembered for. */
  workspace: string | undefined
  store: Store
}

/** The policy for whoever decides by it, and the desk for whoever looks at it. */
export interface PolicyRoom {
  policy: Policy
  desk: PolicyDesk
}

export function createPolicyRoom(options: PolicyRoomOptions): PolicyRoom {
  const { rules, defaultVerdict, store, ...deps } = options
  const workspace = options.workspace === undefined ? undefined : resolved(options.workspace)
  const grants = createGrants(store.grants, workspace)
  const labels = createLabels(store.labels)
  const policy = createPolicy({ rules, defaultVerdict, grants, labels, workspace: workspace !== undefined })
  return { policy, desk: createDesk({ ...deps, policy, grants, log: store.activity }) }
}

/** One name for one folder, whatever links lead to it. */
function resolved(folder: string): string {
  try {
    return realpathSync(folder)
  } catch {
    return resolve(folder)
  }
}
