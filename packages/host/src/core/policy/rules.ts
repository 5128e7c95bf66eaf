import type { Tool } from '@jackfield/sdk'
import { matchesGlob } from '../../shared/glob.ts'
import { isRecord, type JsonRecord } from '../../shared/json.ts'
import type { Caller, PolicyRule, Verdict } from '../../types/index.ts'
import { problemWithTests, testsHold } from './argument-tests.ts'

/** One call as rules see it. */
export interface RuleSubject {
  /** The configured server name. */
  server: string
  tool: Pick<Tool, 'name' | 'annotations'>
  arguments: JsonRecord
  caller: Caller
  /** Labels of data that may flow into the call; for rules about results, those of the result. */
  labels: readonly string[]
  /** The folder that relative paths count from, where known. */
  base: string | undefined
}

const strictness: Readonly<Record<Verdict, number>> = { deny: 2, ask: 1, allow: 0 }

/** The first of the strictest. */
export function strictest<T extends { verdict: Verdict }>(rules: readonly T[]): T | undefined {
  return rules.reduce<T | undefined>(
    (found, rule) =>
      found === undefined || strictness[rule.verdict] > strictness[found.verdict] ? rule : found,
    undefined,
  )
}

export function matches(rule: PolicyRule, subject: RuleSubject): boolean {
  const { server, tool, hint, caller, label, arguments: tests } = rule
  if (server !== undefined && !matchesGlob(server, subject.server)) return false
  if (tool !== undefined && !matchesGlob(tool, subject.tool.name)) return false
  if (hint !== undefined && subject.tool.annotations?.[`${hint}Hint`] !== true) return false
  if (caller !== undefined && !caller.includes(subject.caller)) return false
  if (label !== undefined && !subject.labels.some((flowing) => matchesGlob(label, flowing))) return false
  const demand = rule.verdict === 'allow' ? 'every' : 'any'
  return tests === undefined || testsHold(tests, subject.arguments, demand, subject.base)
}

export const callers: readonly Caller[] = ['chat', 'code', 'app', 'sampling', 'gateway', 'person', 'cli']
export const hints: readonly NonNullable<PolicyRule['hint']>[] = [
  'readOnly',
  'destructive',
  'idempotent',
  'openWorld',
]
const known = [
  'id',
  'verdict',
  'server',
  'tool',
  'hint',
  'caller',
  'arguments',
  'label',
  'gate',
  'scope',
  'author',
]

/** What keeps a rule from being followed; undefined where nothing does. */
export function problemWithRule(rule: unknown): string | undefined {
  if (!isRecord(rule)) return 'a rule is a JSON object'
  const strange = Object.keys(rule).find((name) => !known.includes(name))
  if (strange !== undefined) return `"${strange}" is unknown. Known are ${known.join(', ')}`
  for (const name of ['id', 'server', 'tool', 'label', 'author']) {
    if (rule[name] !== undefined && typeof rule[name] !== 'string') return `"${name}" must be text`
  }
  const choices: [string, readonly string[]][] = [
    ['verdict', ['allow', 'ask', 'deny']],
    ['hint', hints],
    ['gate', ['call', 'result']],
    ['scope', ['conversation', 'workspace', 'always']],
  ]
  for (const [name, values] of choices) {
    const value = rule[name]
    if (value === undefined && name !== 'verdict') continue
    if (typeof value !== 'string' || !values.includes(value)) return `"${name}" must be ${values.join(', ')}`
  }
  const { caller, arguments: tests } = rule
  if (caller !== undefined && !(Array.isArray(caller) && caller.every((one) => callers.includes(one)))) {
    return `"caller" must be a list of ${callers.join(', ')}`
  }
  const problem = tests === undefined ? undefined : problemWithTests(tests)
  return problem === undefined ? undefined : `"arguments" ${problem}`
}
