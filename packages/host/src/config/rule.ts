import { homedir } from 'node:os'
import { resolve } from 'node:path'
import { defined } from '@jackfield/sdk/internal'
import { expandHome } from '../shared/files.ts'
import { isRecord } from '../shared/json.ts'
import type { ArgumentTest, Caller, GrantScope, PolicyRule, Verdict } from '../types/index.ts'
import { member, type Reader, reportUnknown } from './reader.ts'

const verdicts: readonly Verdict[] = ['allow', 'ask', 'deny']
const scopes: readonly GrantScope[] = ['conversation', 'workspace', 'always']
const hints: readonly NonNullable<PolicyRule['hint']>[] = [
  'readOnly',
  'destructive',
  'idempotent',
  'openWorld',
]
export const callers: readonly Caller[] = ['chat', 'code', 'app', 'sampling', 'gateway', 'person', 'cli']
const ruleFields = [
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
]
const testFields = ['at', 'equals', 'glob', 'min', 'max', 'inside']

/** Parses one policy rule. Folders of `inside` are absolute, from `~`, or relative to the configuration file's folder. */
export function readRule(
  item: unknown,
  path: string,
  folder: string,
  reader: Reader,
): PolicyRule | undefined {
  const entry = reader.record(item ?? null, path)
  if (entry === undefined) return undefined
  reportUnknown(entry, path, ruleFields, reader)
  const at = (name: string): string => member(path, name)
  const verdict = reader.oneOf(entry['verdict'] ?? null, at('verdict'), verdicts)
  const server = reader.text(entry['server'], at('server'))
  const tool = reader.text(entry['tool'], at('tool'))
  const label = reader.text(entry['label'], at('label'))
  const hint = reader.oneOf(entry['hint'], at('hint'), hints)
  const gate = reader.oneOf(entry['gate'], at('gate'), ['call', 'result'])
  const scope = reader.oneOf(entry['scope'], at('scope'), scopes)
  const caller = reader.list(entry['caller'], at('caller'), (one, where) =>
    reader.oneOf(one ?? null, where, callers),
  )
  const tests = reader.list(entry['arguments'], at('arguments'), (one, where) =>
    readTest(one, where, folder, reader),
  )
  if (scope !== undefined && verdict !== undefined && verdict !== 'ask') {
    reader.problem(at('scope'), `says how long an answer is remembered, so it belongs to an "ask" rule`)
  }
  if (scope !== undefined && gate === 'result') {
    reader.problem(at('scope'), 'has no effect here: returning a result is asked about every time')
  }
  const id = reader.text(entry['id'], at('id')) ?? path
  if (verdict === undefined) return undefined
  const rule: PolicyRule = {
    id,
    verdict,
    ...defined({ server, tool, hint, caller, arguments: tests, label, gate, scope }),
    author: `${reader.file}, ${path}`,
  }
  const problem = ruleProblem(rule)
  if (problem !== undefined) reader.problem(path, `is invalid: ${problem}`)
  return rule
}

function readTest(item: unknown, path: string, folder: string, reader: Reader): ArgumentTest | undefined {
  const entry = reader.record(item ?? null, path)
  if (entry === undefined) return undefined
  reportUnknown(entry, path, testFields, reader)
  const at = reader.text(entry['at'] ?? null, member(path, 'at'))
  const glob = reader.text(entry['glob'], member(path, 'glob'))
  const inside = reader.texts(entry['inside'], member(path, 'inside'))
  const [min, max] = [readNumber(entry, 'min', path, reader), readNumber(entry, 'max', path, reader)]
  return {
    at: at ?? '',
    ...('equals' in entry && { equals: entry['equals'] }),
    ...defined({ glob, min, max, inside: inside?.map((one) => resolve(folder, expandHome(one, homedir()))) }),
  }
}

function readNumber(entry: unknown, name: 'min' | 'max', path: string, reader: Reader): number | undefined {
  const value = isRecord(entry) ? entry[name] : undefined
  if (value === undefined || typeof value === 'number') return value
  reader.problem(member(path, name), 'must be a number')
  return undefined
}

/** Why a rule is invalid; undefined if it is valid. */
export function ruleProblem(rule: unknown): string | undefined {
  if (!isRecord(rule)) return 'a rule must be a JSON object'
  const unknownKey = Object.keys(rule).find((name) => name !== 'author' && !ruleFields.includes(name))
  if (unknownKey !== undefined)
    return `"${unknownKey}" is unknown. Known are ${[...ruleFields, 'author'].join(', ')}`
  for (const name of ['id', 'server', 'tool', 'label', 'author']) {
    if (rule[name] !== undefined && typeof rule[name] !== 'string') return `"${name}" must be text`
  }
  const choices: [string, readonly string[]][] = [
    ['verdict', verdicts],
    ['hint', hints],
    ['gate', ['call', 'result']],
    ['scope', scopes],
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
  const problem = tests === undefined ? undefined : testsProblem(tests)
  return problem === undefined ? undefined : `"arguments" ${problem}`
}

/** Why a list of argument tests is invalid; undefined if it is valid. */
function testsProblem(value: unknown): string | undefined {
  if (!Array.isArray(value)) return 'must be a list'
  for (const [index, test] of value.entries()) {
    const problem = isRecord(test) ? testProblem(test) : 'must be an object'
    if (problem !== undefined) return `[${index}] ${problem}`
  }
  return undefined
}

function testProblem(test: Record<string, unknown>): string | undefined {
  const unknownKey = Object.keys(test).find((name) => !testFields.includes(name))
  if (unknownKey !== undefined) return `.${unknownKey} is unknown. Known are ${testFields.join(', ')}`
  const { at, glob, min, max, inside } = test
  if (typeof at !== 'string') return '.at must be a JSON Pointer such as "/path"'
  if ((at !== '' && !at.startsWith('/')) || /~(?![01])/.test(at)) {
    return '.at is not a JSON Pointer: it must begin with "/", and "~" is written "~0", a "/" in a name "~1"'
  }
  if (glob !== undefined && typeof glob !== 'string') return '.glob must be text'
  for (const [name, bound] of [['min', min] as const, ['max', max] as const]) {
    if (bound !== undefined && (typeof bound !== 'number' || !Number.isFinite(bound))) {
      return `.${name} must be a number`
    }
  }
  if (
    inside !== undefined &&
    !(Array.isArray(inside) && inside.every((folder) => typeof folder === 'string'))
  ) {
    return '.inside must be a list of folders'
  }
  return undefined
}

/** Whether this is a valid list of argument tests. */
export function isTestList(value: unknown): value is readonly ArgumentTest[] {
  return testsProblem(value) === undefined
}
