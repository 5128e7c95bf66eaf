import type { ArgumentTest, PolicyRule } from '@jackfield/host/browser'

export const verdicts = ['allow', 'ask', 'deny'] as const
export const hints = ['readOnly', 'destructive', 'idempotent', 'openWorld'] as const
export const scopes = ['conversation', 'workspace', 'always'] as const
export const callers = ['chat', 'code', 'app', 'sampling', 'gateway', 'person', 'cli'] as const
export const testKinds = ['glob', 'equals', 'inside', 'min', 'max'] as const

/** One condition on an argument in the form. */
export interface DraftTest {
  readonly at: string
  readonly kind: (typeof testKinds)[number]
  readonly value: string
}

/** A rule in the form. An empty field matches anything. */
export interface DraftRule {
  readonly id: string
  readonly verdict: (typeof verdicts)[number]
  readonly server: string
  readonly tool: string
  readonly hint: (typeof hints)[number] | ''
  readonly label: string
  readonly scope: (typeof scopes)[number] | ''
  readonly callers: readonly (typeof callers)[number][]
  readonly tests: readonly DraftTest[]
  readonly gate: 'call' | 'result'
}

export const emptyRule: DraftRule = {
  id: '',
  verdict: 'ask',
  server: '',
  tool: '',
  hint: '',
  label: '',
  scope: '',
  callers: [],
  tests: [],
  gate: 'call',
}

/** Converts a configured rule to form fields. */
export function draftOf(rule: PolicyRule): DraftRule {
  return {
    id: /^jackfield\.rules\[\d+\]$/.test(rule.id) ? '' : rule.id,
    verdict: rule.verdict,
    server: rule.server ?? '',
    tool: rule.tool ?? '',
    hint: rule.hint ?? '',
    label: rule.label ?? '',
    scope: rule.scope ?? '',
    callers: rule.caller ?? [],
    tests: (rule.arguments ?? []).flatMap(testsOf),
    gate: rule.gate ?? 'call',
  }
}

function testsOf({ at, equals, glob, min, max, inside, ...rest }: ArgumentTest): DraftTest[] {
  const { length } = Object.keys(rest)
  if (length > 0) return []
  return [
    ...(equals !== undefined ? [{ at, kind: 'equals' as const, value: JSON.stringify(equals) }] : []),
    ...(glob !== undefined ? [{ at, kind: 'glob' as const, value: glob }] : []),
    ...(min !== undefined ? [{ at, kind: 'min' as const, value: String(min) }] : []),
    ...(max !== undefined ? [{ at, kind: 'max' as const, value: String(max) }] : []),
    ...(inside !== undefined ? [{ at, kind: 'inside' as const, value: inside.join(', ') }] : []),
  ]
}

/** The problem of a condition; undefined if it is valid. */
export function testProblem({
  at,
  kind,
  value,
}: DraftTest): 'pointerWrong' | 'numberWrong' | 'valueMissing' | undefined {
  if (at !== '' && !at.startsWith('/')) return 'pointerWrong'
  if (value === '') return 'valueMissing'
  if ((kind === 'min' || kind === 'max') && !Number.isFinite(Number(value))) return 'numberWrong'
  return undefined
}

/** Converts form fields to a configured rule; undefined while a condition is invalid. */
export function ruleOf(draft: DraftRule): Record<string, unknown> | undefined {
  if (draft.tests.some((test) => testProblem(test) !== undefined)) return undefined
  const text = (name: 'id' | 'server' | 'tool' | 'hint' | 'label'): Record<string, string> =>
    draft[name].trim() === '' ? {} : { [name]: draft[name].trim() }
  return {
    ...text('id'),
    verdict: draft.verdict,
    ...text('server'),
    ...text('tool'),
    ...text('hint'),
    ...(draft.callers.length > 0 && { caller: [...draft.callers] }),
    ...(draft.tests.length > 0 && { arguments: draft.tests.map(argumentTest) }),
    ...text('label'),
    ...(draft.gate === 'result' && { gate: 'result' }),
    ...(draft.verdict === 'ask' && draft.scope !== '' && { scope: draft.scope }),
  }
}

function argumentTest({ at, kind, value }: DraftTest): Record<string, unknown> {
  if (kind === 'min' || kind === 'max') return { at, [kind]: Number(value) }
  if (kind === 'inside') return { at, inside: value.split(',').map((folder) => folder.trim()) }
  if (kind === 'glob') return { at, glob: value }
  try {
    return { at, equals: JSON.parse(value) }
  } catch {
    return { at, equals: value }
  }
}

/** Converts form fields to the rule parameter of `policy.preview`. */
export function previewRule(draft: DraftRule): PolicyRule | undefined {
  const rule = ruleOf(draft)
  return rule === undefined ? undefined : { verdict: draft.verdict, ...rule, id: draft.id || 'preview' }
}
