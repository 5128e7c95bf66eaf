import { McpError, type Tool } from '@jackfield/sdk'
import { ruleProblem } from '../../config/rule.ts'
import type { LabelTable, SeenLabel } from '../../log/store/answer-tables.ts'
import { canonical, frozenCopy, type JsonRecord } from '../../shared/json.ts'
import { matchesGlob } from '../../shared/text.ts'
import type {
  Caller,
  Decision,
  Grant,
  GrantScope,
  PolicyExplanation,
  PolicyRule,
  Remember,
  Verdict,
} from '../../types/index.ts'
import { type GrantSubject, type Grants, grantKey, isOfUnknownUser } from './grants.ts'
import { matches, type RuleSubject, strictest } from './rules.ts'

/** The call to decide on. */
export interface PolicySubject {
  /** The configured server name, which rules match. */
  server: string
  /** The server's identity, which grants match. */
  identity: string
  tool: Tool
  arguments: JsonRecord
  caller: Caller
  conversation?: string | undefined
  /** The folder the server runs in, if it runs on this machine. */
  base?: string | undefined
  /** Labels of the server's data. */
  dataLabels?: readonly string[] | undefined
}

export interface Ruling extends Omit<PolicyExplanation, 'result'> {
  /** The read-only tools of the server that one grant may allow for the conversation; empty if not available. */
  readOnlyTools: readonly string[]
}

/** The definitions of a server whose definitions are all accepted. */
export interface ServerDefinitions {
  /** Changes with every definition, and when the user accepts another one. */
  fingerprint: string
  /** Names of the pinned tools that declare themselves read-only. */
  readOnlyTools: readonly string[]
}

/** Shortest first. */
const scopes: readonly GrantScope[] = ['conversation', 'workspace', 'always']
const userAuthor = 'the person'
const defaultAuthor = 'Jackfield'
const typedDecision: Decision = { verdict: 'allow', rule: 'typed', author: userAuthor }

interface RuleOptions {
  rules: readonly PolicyRule[]
  /** Default `ask`. */
  defaultVerdict?: Verdict | undefined
}

interface PolicyOptions extends RuleOptions {
  grants: Grants
  labels: Labels
  /**
   * The definitions of a server with this name; undefined if one is not accepted or none is pinned. If absent, no grant covers
   * several tools.
   */
  definitions?: ((server: string) => ServerDefinitions | undefined) | undefined
  /** Whether there is a workspace folder to limit grants to. */
  workspace: boolean
}

/**
 * Decides by the strictest of all matching rules: deny, then ask, then allow. A grant counts as a rule for exactly one definition
 * of one tool, and replaces an `ask` only if the rule allows grants.
 */
export class Policy {
  readonly #options: PolicyOptions
  #rules: readonly PolicyRule[]
  #fallback: Decision

  /** @throws McpError 'INVALID' for an invalid rule, since the others alone might allow what it forbids */
  constructor(options: PolicyOptions) {
    this.#options = options
    this.#rules = checkedRules(options.rules)
    this.#fallback = fallbackOf(options.defaultVerdict)
  }

  get rules(): readonly PolicyRule[] {
    return this.#rules
  }

  get defaultVerdict(): Verdict {
    return this.#fallback.verdict
  }

  /** Replaces the rules; returns false if they are unchanged. Throws as the constructor does, and then keeps the previous ones. */
  reload({ rules: given, defaultVerdict }: RuleOptions): boolean {
    const rules = checkedRules(given)
    const fallback = fallbackOf(defaultVerdict)
    if (canonical(rules) === canonical(this.#rules) && fallback.verdict === this.#fallback.verdict)
      return false
    this.#rules = rules
    this.#fallback = fallback
    return true
  }

  /** `typed`: the user typed this exact call, which counts as approval. */
  decide(subject: PolicySubject, typed = false): Ruling {
    const { grants, labels, workspace } = this.#options
    const flowing = labels.flowing(subject.conversation, subject.server)
    const matched = this.#rulesMatching('call', ruleSubject(subject, flowing))
    // Few calls need the definitions, which takes longer than all the rest.
    const definitions = grants.coversReadOnly(subject.identity) ? this.#definitionsFor(subject) : undefined
    const matchingGrants = grants.find(grantSubject(subject, definitions))
    const mustAsk =
      subject.tool.annotations?.openWorldHint !== false && flowing.some((label) => !isSettled(label, matched))
    const decision = this.#decideByRules(matched, mustAsk)
    const ruling = (decided: Decision, remember: readonly GrantScope[] = []): Ruling => ({
      decision: decided,
      remember,
      matched,
      grants: matchingGrants,
      labels: flowing,
      readOnlyTools:
        remember.includes('conversation') && subject.conversation !== undefined
          ? (this.#definitionsFor(subject)?.readOnlyTools ?? [])
          : [],
    })
    if (decision.verdict === 'deny') return ruling(decision)
    // The typed call takes precedence over earlier answers.
    if (typed) return ruling(decision.verdict === 'ask' ? typedDecision : decision)

    const denial = matchingGrants.find(({ verdict }) => verdict === 'deny')
    if (denial !== undefined) return ruling(remembered(denial))
    if (decision.verdict === 'allow') return ruling(decision)
    const allowedScopes = mustAsk
      ? []
      : rememberableScopes(matched).filter(
          (scope) =>
            (scope !== 'workspace' || workspace) && (scope !== 'conversation' || !isOfUnknownUser(subject)),
        )
    const approval = matchingGrants.find(({ scope }) => allowedScopes.includes(scope))
    return approval === undefined ? ruling(decision, allowedScopes) : ruling(remembered(approval))
  }

  /** Whether the caller may have the result; undefined if no rule applies. */
  decideResult(subject: PolicySubject, typed = false): Decision | undefined {
    const rule = strictest(this.#rulesMatching('result', ruleSubject(subject, subject.dataLabels ?? [])))
    if (rule === undefined) return undefined
    return typed && rule.verdict === 'ask' ? typedDecision : byRule(rule)
  }

  /** Stores a grant, no longer than the ruling allows. Returns its duration, or undefined if none was stored. */
  remember(
    subject: PolicySubject,
    verdict: 'allow' | 'deny',
    remember: Remember,
    ruling: Ruling,
  ): GrantScope | undefined {
    const { grants } = this.#options
    const scope = ruling.remember.includes(remember.scope)
      ? remember.scope
      : ruling.remember.find((allowed) => scopes.indexOf(allowed) < scopes.indexOf(remember.scope))
    if (scope === undefined) return undefined
    const { readOnlyTools, ...limits } = remember
    if (readOnlyTools !== true) {
      grants.add(grantSubject(subject, undefined), verdict, { ...limits, scope }, subject.server)
      return scope
    }
    // The user approved the definition in the question: nothing is stored if it changed meanwhile.
    const definitions = this.#definitionsFor(subject)
    const isSame = canonical(definitions?.readOnlyTools ?? []) === canonical(ruling.readOnlyTools)
    if (verdict !== 'allow' || ruling.readOnlyTools.length === 0 || !isSame) return undefined
    const answer = { scope: 'conversation', readOnlyTools } as const
    grants.add(grantSubject(subject, definitions), verdict, answer, subject.server)
    return 'conversation'
  }

  /** Records that a conversation saw data of this server with these labels. */
  noteLabels(conversation: string | undefined, server: string, seen: readonly string[]): void {
    this.#options.labels.add(conversation, server, seen)
  }

  #rulesMatching(gate: 'call' | 'result', subject: RuleSubject): PolicyRule[] {
    return this.#rules.filter((rule) => (rule.gate ?? 'call') === gate && matches(rule, subject))
  }

  #decideByRules(matched: readonly PolicyRule[], mustAsk: boolean): Decision {
    const rule = strictest(matched)
    const decision = rule === undefined ? this.#fallback : byRule(rule)
    const isOverruled =
      mustAsk && (rule === undefined ? decision.verdict !== 'deny' : rule.verdict === 'allow')
    return isOverruled ? { verdict: 'ask', rule: 'label', author: defaultAuthor } : decision
  }

  /**
   * The server's definitions, if the tool is pinned and declares itself read-only. Removes a grant given for other definitions.
   */
  #definitionsFor({ server, identity, tool }: PolicySubject): ServerDefinitions | undefined {
    const { grants, definitions } = this.#options
    const isReadOnly = hasReadOnlyHint(tool)
    if (!isReadOnly && !grants.coversReadOnly(identity)) return undefined
    const known = definitions?.(server)
    grants.removeExcept(identity, known?.fingerprint)
    return isReadOnly && known?.readOnlyTools.includes(tool.name) === true ? known : undefined
  }
}

function checkedRules(rules: readonly PolicyRule[]): PolicyRule[] {
  for (const rule of rules) {
    const problem = ruleProblem(rule)
    if (problem === undefined) continue
    throw new McpError('INVALID', `The rule ${JSON.stringify(rule.id)} is invalid: ${problem}.`)
  }
  return rules.map((rule) => frozenCopy({ author: 'this program', ...rule }))
}

function fallbackOf(verdict: Verdict | undefined): Decision {
  const author = verdict === undefined ? defaultAuthor : 'the configuration'
  return { verdict: verdict ?? 'ask', rule: 'default', author }
}

function byRule({ verdict, id, author }: PolicyRule): Decision {
  return { verdict, rule: id, ...(author !== undefined && { author }) }
}

function remembered({ verdict, scope, at }: Grant): Decision {
  return { verdict, rule: `remembered:${scope}`, author: userAuthor, at }
}

/** Whether a matching rule allows or denies data with this label explicitly. */
function isSettled(label: string, matched: readonly PolicyRule[]): boolean {
  return matched.some(
    (rule) => rule.label !== undefined && rule.verdict !== 'ask' && matchesGlob(rule.label, label),
  )
}

/** The durations allowed by all matching `ask` rules; without any, the default verdict allows every duration. */
function rememberableScopes(matched: readonly PolicyRule[]): readonly GrantScope[] {
  const maxScopes = matched
    .filter((rule) => rule.verdict === 'ask')
    .map((rule) => (rule.scope === undefined ? 0 : scopes.indexOf(rule.scope) + 1))
  return scopes.slice(0, Math.min(scopes.length, ...maxScopes))
}

function ruleSubject(subject: PolicySubject, labels: readonly string[]): RuleSubject {
  const { server, tool, arguments: args, caller, base } = subject
  return { server, tool, arguments: args, caller, labels, base }
}

function grantSubject(subject: PolicySubject, definitions: ServerDefinitions | undefined): GrantSubject {
  const { identity, tool, arguments: args, conversation, base } = subject
  const key = grantKey(identity, tool)
  return { key, arguments: args, conversation, base, definitions: definitions?.fingerprint }
}

/** Whether a tool declares itself read-only without contradicting itself. */
export function hasReadOnlyHint({ annotations }: Tool): boolean {
  return annotations?.readOnlyHint === true && annotations.destructiveHint !== true
}

/** Labels of the data each conversation saw. Outside conversations, all data seen since the host started counts. */
export class Labels {
  readonly #table: LabelTable
  readonly #outside: SeenLabel[] = []

  constructor(table: LabelTable) {
    this.#table = table
  }

  /** Records that data of this server with these labels was seen. */
  add(conversation: string | undefined, server: string, labels: readonly string[]): void {
    for (const label of labels) {
      if (conversation !== undefined) this.#table.add(conversation, { label, server })
      else if (!this.#outside.some((seen) => seen.label === label && seen.server === server)) {
        this.#outside.push({ label, server })
      }
    }
  }

  /** Seen labels of data from other servers than this one. */
  flowing(conversation: string | undefined, server: string): string[] {
    const seen = conversation === undefined ? this.#outside : this.#table.of(conversation)
    if (seen.length === 0) return []
    return [...new Set(seen.filter((one) => one.server !== server).map(({ label }) => label))].sort()
  }
}
