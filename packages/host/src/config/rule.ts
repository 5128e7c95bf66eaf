import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { problemWithRule } from '../core/policy/rules.ts'
import { isRecord } from '../shared/json.ts'
import type { ArgumentTest, PolicyRule } from '../types/index.ts'
import { member } from './problem.ts'
import type { Reader } from './reader.ts'

const verdicts = ['allow', 'ask', 'deny'] as const
const scopes = ['conversation', 'workspace', 'always'] as const
const hints = ['readOnly', 'destructive', 'idempotent', 'openWorld'] as const
const callers = ['chat', 'code', 'app', 'sampling', 'gateway', 'person', 'cli'] as const
const known = ['id', 'verdict', 'server', 'tool', 'hint', 'caller', 'arguments', 'label', 'gate', 'scope']
const conditions = ['at', 'equals', 'glob', 'min', 'max', 'inside']

/** Reads one rule of the policy. Folders of `inside` are absolute, from `~`, or from the config file's folder. */
export function readRule(
  item: unknown,
  path: string,
  folder: string,
  reader: Reader,
): PolicyRule | undefined {
  const entry = reader.record(item ?? null, path)
  if (entry === undefined) return undefined
  for (const name of Object.keys(entry)) {
    if (!known.includes(name)) reader.problem(member(path, name), `is unknown. Known are ${known.join(', ')}`)
  }
  const at = (name: string): string => member(path, name)
  const verdict = reader.oneOf(entry['verdict'] ?? null, at('verdict'), verdicts)
  const server = reader.text(entry['server'], at('server'))
  const tool = reader.text(entry['tool'], at('tool'))
  const label = reader.text(entry['label'], at('label'))
  const hint = reader.oneOf(entry['hint'], at('hint'), hints)
  const gate = reader.oneOf(entry['gate'], at('gate'), ['call', 'result'])
  const scope = reader.oneOf(entry['scope'], at('scope'), scopes)
  const caller = several(entry['caller'], at('caller'), reader, (one, where) =>
    reader.oneOf(one ?? null, where, callers),
  )
  const tests = several(entry['arguments'], at('arguments'), reader, (one, where) =>
    readTest(one, where, folder, reader),
  )
  if (scope !== undefined && verdict !== undefined && verdict !== 'ask') {
    reader.problem(at('scope'), `says how long an answer is remembered, so it belongs to an "ask" rule`)
  }
  if (scope !== undefined && gate === 'result') {
    reader.problem(at('scope'), 'has no meaning here: whether a result is let through is asked every time')
  }
  const id = reader.text(entry['id'], at('id')) ?? path
  if (verdict === undefined) return undefined
  const rule: PolicyRule = {
    id,
    verdict,
    ...(server !== undefined && { server }),
    ...(tool !== undefined && { tool }),
    ...(hint !== undefined && { hint }),
    ...(caller !== undefined && { caller }),
    ...(tests !== undefined && { arguments: tests }),
    ...(label !== undefined && { label }),
    ...(gate !== undefined && { gate }),
    ...(scope !== undefined && { scope }),
    author: `${reader.file}, ${path}`,
  }
  const problem = problemWithRule(rule)
  if (problem !== undefined) reader.problem(path, `cannot be followed: ${problem}`)
  return rule
}

function readTest(item: unknown, path: string, folder: string, reader: Reader): ArgumentTest | undefined {
  const entry = reader.record(item ?? null, path)
  if (entry === undefined) return undefined
  for (const name of Object.keys(entry)) {
    if (conditions.includes(name)) continue
    reader.problem(member(path, name), `is unknown. Known are ${conditions.join(', ')}`)
  }
  const at = reader.text(entry['at'] ?? null, member(path, 'at'))
  const glob = reader.text(entry['glob'], member(path, 'glob'))
  const inside = reader.texts(entry['inside'], member(path, 'inside'))
  const [min, max] = [number(entry, 'min', path, reader), number(entry, 'max', path, reader)]
  return {
    at: at ?? '',
    ...('equals' in entry && { equals: entry['equals'] }),
    ...(glob !== undefined && { glob }),
    ...(min !== undefined && { min }),
    ...(max !== undefined && { max }),
    ...(inside !== undefined && { inside: inside.map((one) => absolute(one, folder)) }),
  }
}

function number(entry: unknown, name: 'min' | 'max', path: string, reader: Reader): number | undefined {
  const value = isRecord(entry) ? entry[name] : undefined
  if (value === undefined || typeof value === 'number') return value
  reader.problem(member(path, name), 'must be a number')
  return undefined
}

function several<T>(
  value: unknown,
  path: string,
  reader: Reader,
  read: (item: unknown, path: string) => T | undefined,
): T[] | undefined {
  if (value === undefined) return undefined
  if (Array.isArray(value)) return value.flatMap((item, index) => read(item, member(path, index)) ?? [])
  reader.problem(path, 'must be a list')
  return undefined
}

function absolute(text: string, folder: string): string {
  return text === '~' || text.startsWith('~/') ? join(homedir(), text.slice(1)) : resolve(folder, text)
}
