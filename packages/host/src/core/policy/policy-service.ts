import { realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import { McpError } from '@jackfield/sdk'
import { defined } from '@jackfield/sdk/internal'
import { callers, ruleProblem } from '../../config/rule.ts'
import type { ActivityLog, Recorder } from '../../log/store/activity-log.ts'
import type { Store } from '../../log/store/store.ts'
import { isRecord, type JsonRecord } from '../../shared/json.ts'
import type {
  Caller,
  CatalogTool,
  Decision,
  PolicyRule,
  PolicyService,
  PreviewedCall,
  RuleHits,
  ServerConfig,
  Verdict,
} from '../../types/index.ts'
import { createGrants, frozenArguments, type Grants, subjectOf } from './grants.ts'
import { Labels, Policy, type ServerDefinitions } from './policy.ts'
import { matches, strictest } from './rules.ts'

interface LivePolicyOptions extends Pick<ServiceDeps, 'find' | 'recorder' | 'refuseWhenClosed'> {
  rules: readonly PolicyRule[]
  defaultVerdict: Verdict | undefined
  /** The folder that grants can be limited to. */
  workspace: string | undefined
  store: Store
  definitions: (server: string) => ServerDefinitions | undefined
}

/** The policy of a host, and its public service. */
interface LivePolicy {
  policy: Policy
  service: PolicyService
  /** Removes the grants of a conversation that ended. */
  endConversation(conversation: string): void
  /**
   * Replaces the rules; grants stay. Returns false if the rules are unchanged.
   * @throws McpError 'INVALID' for an invalid rule; the previous rules then stay
   */
  reload(next: Pick<LivePolicyOptions, 'rules' | 'defaultVerdict'>): boolean
}

export function createLivePolicy(options: LivePolicyOptions): LivePolicy {
  const { rules, defaultVerdict, store, definitions, recorder } = options
  const folder = options.workspace === undefined ? undefined : realFolder(options.workspace)
  const grants = createGrants(store.grants, folder)
  const labels = new Labels(store.labels)
  const workspace = folder !== undefined
  const policy = new Policy({ rules, defaultVerdict, grants, labels, definitions, workspace })
  return {
    policy,
    service: createService({ ...options, policy, grants, log: store.activity }),
    endConversation: (conversation) => grants.endConversation(conversation),
    reload(next) {
      if (!policy.reload(next)) return false
      const { rules, defaultVerdict } = policy
      const count = rules.length
      const summary = `The policy changed: ${count} ${count === 1 ? 'rule' : 'rules'}, default ${defaultVerdict}`
      const detail = { rules, defaultVerdict }
      recorder.note({ kind: 'approval', server: null, summary, detail }, 'changed')
      return true
    },
  }
}

/** Resolves links, so that a folder has one name. */
function realFolder(folder: string): string {
  try {
    return realpathSync(folder)
  } catch {
    return resolve(folder)
  }
}

interface ServiceDeps {
  policy: Policy
  grants: Grants
  /** The tool with this name and its server. Throws an McpError for an unknown name. */
  find: (tool: string) => { entry: CatalogTool; connection: { identity: string; config: ServerConfig } }
  log: ActivityLog
  recorder: Recorder
  /** Throws once the host is closed. */
  refuseWhenClosed: () => void
}

const dayMs = 86_400_000

function createService(deps: ServiceDeps): PolicyService {
  const { policy, grants, find, log, recorder, refuseWhenClosed } = deps
  return {
    rules: () => policy.rules,
    get defaultVerdict() {
      return policy.defaultVerdict
    },
    grants: () => grants.list(),
    revoke(id) {
      refuseWhenClosed()
      const grant = grants.remove(id)
      if (grant === undefined) return false
      const { server, tool } = grant
      const what = grant.readOnlyTools === true ? 'read-only tools' : tool
      const summary = `The answer about ${what} of ${server} was revoked`
      recorder.note({ kind: 'approval', server, summary, detail: { ...grant } }, 'revoked')
      return true
    },
    explain(tool, args, { caller = 'chat', typed = false, conversation } = {}) {
      const { entry, connection } = find(tool)
      const subject = subjectOf(entry, connection, frozenArguments(args), { caller, conversation })
      const { decision, remember, matched, grants: fitting, labels } = policy.decide(subject, typed)
      const result = policy.decideResult(subject, typed)
      return { decision, remember, matched, grants: fitting, labels, ...defined({ result }) }
    },
    preview(rule, { days = 30 } = {}) {
      const problem = ruleProblem(rule)
      if (problem !== undefined) throw new McpError('INVALID', `The rule is invalid: ${problem}.`)
      const since = new Date(Date.now() - days * dayMs).toISOString()
      const matched: PreviewedCall[] = []
      let considered = 0
      let uncertain = 0
      for (const { id, at, server, outcome, detail } of log.since('call', since)) {
        const recorded = recordedCallOf(detail)
        if (server === null || recorded === undefined) continue
        considered += 1
        const { tool, caller, decision, labels, base, isComplete } = recorded
        const call = { server, tool, arguments: recorded.arguments, caller, labels, base }
        if (!isComplete && rule.arguments !== undefined) {
          if (matches({ ...rule, arguments: [] }, call)) uncertain += 1
        } else if (matches(rule, call)) {
          // The default verdict applies only where no rule matches.
          const recordedDecisions = decision.rule === 'default' ? [] : [decision]
          const { verdict } = strictest([rule, ...recordedDecisions]) ?? decision
          matched.push({ activity: id, at, server, tool: tool.name, caller, decision, outcome, verdict })
        }
      }
      return { since, considered, matched, uncertain }
    },
    hits({ days = 30 } = {}) {
      const since = new Date(Date.now() - days * dayMs).toISOString()
      const hitsByRule = new Map<string, RuleHits>()
      for (const { id, at, detail } of log.since('call', since)) {
        const decision = decisionOf(detail['decision'])
        if (decision === undefined) continue
        const { rule, author } = decision
        const key = JSON.stringify([rule, author])
        const calls = (hitsByRule.get(key)?.calls ?? 0) + 1
        hitsByRule.set(key, {
          rule,
          ...(author !== undefined && { author }),
          calls,
          last: { activity: id, at },
        })
      }
      return [...hitsByRule.values()]
    },
  }
}

interface RecordedCall {
  tool: { name: string; annotations: JsonRecord }
  arguments: JsonRecord
  caller: Caller
  decision: Decision
  labels: string[]
  base: string | undefined
  /** Whether the stored arguments are complete. */
  isComplete: boolean
}

/** The facts of a call's row that rules need. */
function recordedCallOf(detail: JsonRecord): RecordedCall | undefined {
  const { tool, arguments: args, caller, decision, labels, annotations, base, cut } = detail
  const knownCaller = callers.find((candidate) => candidate === caller)
  const recordedDecision = decisionOf(decision)
  if (typeof tool !== 'string' || knownCaller === undefined || recordedDecision === undefined)
    return undefined
  return {
    tool: { name: tool, annotations: isRecord(annotations) ? annotations : {} },
    arguments: isRecord(args) ? args : {},
    caller: knownCaller,
    decision: recordedDecision,
    labels: Array.isArray(labels) ? labels.filter((label) => typeof label === 'string') : [],
    base: typeof base === 'string' ? base : undefined,
    isComplete: isRecord(args) && !(isRecord(cut) && 'arguments' in cut),
  }
}

function decisionOf(value: unknown): Decision | undefined {
  if (!isRecord(value) || typeof value['rule'] !== 'string') return undefined
  const { verdict, rule, author, at } = value
  if (verdict !== 'allow' && verdict !== 'ask' && verdict !== 'deny') return undefined
  return {
    verdict,
    rule,
    ...(typeof author === 'string' && { author }),
    ...(typeof at === 'string' && { at }),
  }
}
