import type { Tool } from '@jackfield/sdk'
import type { Decision, PolicyRule, Verdict } from '../types/index.ts'
import { matchesGlob } from './glob.ts'
import { type GrantScope, type Grants, grantKey } from './grants.ts'

/** What is to be decided about: one tool of one server. */
export interface PolicySubject {
  /** The configured server name, which rules match. */
  server: string
  /** The server's identity, which remembered answers match. */
  identity: string
  tool: Tool
}

export interface Ruling {
  decision: Decision
  /** How long an answer to the question may be remembered; nothing where every call asks. */
  remember: readonly GrantScope[]
}

export interface Policy {
  /** `typed`: the person wrote this very call, which answers what would be asked. */
  decide(subject: PolicySubject, typed?: boolean): Ruling
  /** Remembers an answer, no longer than the ruling lets it. Returns for how long, or undefined if not at all. */
  remember(
    subject: PolicySubject,
    verdict: 'allow' | 'deny',
    scope: GrantScope,
    ruling: Ruling,
  ): GrantScope | undefined
}

const strictness: Readonly<Record<Verdict, number>> = { deny: 2, ask: 1, allow: 0 }

/**
 * Decides by the strictest of all matching rules: deny, then ask, then allow. A remembered answer counts as a rule
 * about exactly one definition of one tool, and stands in for an `ask` only where the rule lets answers be remembered.
 */
export function createPolicy(options: {
  rules: readonly PolicyRule[]
  defaultVerdict: Verdict
  grants: Grants
}): Policy {
  const rules = options.rules.map((rule) => Object.freeze({ ...rule }))
  return {
    decide(subject, typed = false) {
      const matching = rules.filter((rule) => matches(rule, subject))
      const strictest = matching.reduce<PolicyRule | undefined>(
        (found, rule) =>
          found === undefined || strictness[rule.verdict] > strictness[found.verdict] ? rule : found,
        undefined,
      )
      const verdict = strictest?.verdict ?? options.defaultVerdict
      const ruled: Decision = { verdict, rule: strictest?.id ?? 'default' }
      if (verdict === 'deny') return { decision: ruled, remember: [] }
      // What the person writes now says more than what they answered once.
      if (typed) {
        return { decision: verdict === 'ask' ? { verdict: 'allow', rule: 'typed' } : ruled, remember: [] }
      }

      const grant = options.grants.find(grantKey(subject.identity, subject.tool))
      if (grant?.verdict === 'deny') {
        return { decision: { verdict: 'deny', rule: `remembered:${grant.scope}` }, remember: [] }
      }
      const scopes = verdict === 'ask' ? rememberable(matching) : []
      if (grant !== undefined && scopes.includes(grant.scope)) {
        return { decision: { verdict: 'allow', rule: `remembered:${grant.scope}` }, remember: [] }
      }
      return { decision: ruled, remember: scopes }
    },
    remember(subject, verdict, scope, ruling) {
      const kept = ruling.remember.includes(scope) ? scope : ruling.remember[0]
      if (kept === undefined) return undefined
      options.grants.add(grantKey(subject.identity, subject.tool), verdict, kept, subject.server)
      return kept
    },
  }
}

/** What every matching `ask` rule lets be remembered; without any, the default verdict lets everything be. */
function rememberable(matching: readonly PolicyRule[]): readonly GrantScope[] {
  const asks = matching.filter((rule) => rule.verdict === 'ask')
  if (asks.some((rule) => rule.scope === undefined)) return []
  return asks.some((rule) => rule.scope === 'conversation')
    ? ['conversation']
    : ['conversation', 'workspace', 'always']
}

function matches(rule: PolicyRule, subject: PolicySubject): boolean {
  if (rule.server !== undefined && !matchesGlob(rule.server, subject.server)) return false
  if (rule.tool !== undefined && !matchesGlob(rule.tool, subject.tool.name)) return false
  if (rule.hint === 'readOnly') return subject.tool.annotations?.readOnlyHint === true
  if (rule.hint === 'destructive') return subject.tool.annotations?.destructiveHint === true
  return true
}
