import { lstatSync, readlinkSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join, parse, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Tool } from '@jackfield/sdk'
import { canonical, isRecord, type JsonRecord } from '../../shared/json.ts'
import { matchesGlob } from '../../shared/text.ts'
import type { ArgumentTest, Caller, PolicyRule, Verdict } from '../../types/index.ts'

/** One call as rules see it. */
export interface RuleSubject {
  /** The configured server name. */
  server: string
  tool: Pick<Tool, 'name' | 'annotations'>
  arguments: JsonRecord
  caller: Caller
  /** Labels of data that may flow into the call; for result rules, those of the result. */
  labels: readonly string[]
  /** The base folder of relative paths, if known. */
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
  const quantifier = rule.verdict === 'allow' ? 'every' : 'any'
  return tests === undefined || testsHold(tests, subject.arguments, quantifier, subject.base)
}

const absent: unique symbol = Symbol('absent')
const maxSelected = 10_000

/** With several values for one pointer: every one must match, or any may. */
type Quantifier = 'every' | 'any'

/**
 * Whether all tests hold. `base`: the folder of relative paths, if known. If a test cannot be evaluated, the result is
 * the safe one: false for `every`, true for `any`.
 */
export function testsHold(
  tests: readonly ArgumentTest[],
  args: unknown,
  quantifier: Quantifier,
  base: string | undefined,
): boolean {
  return tests.every((test) => {
    const selected = select(args, test.at)
    if (selected === undefined) return quantifier === 'any'
    const holds = (value: unknown): TestResult => (value === absent ? false : valueHolds(test, value, base))
    return quantifier === 'every'
      ? selected.length > 0 && selected.every((value) => holds(value) === true)
      : selected.some((value) => holds(value) !== false)
  })
}

function valueHolds(test: ArgumentTest, value: unknown, base: string | undefined): TestResult {
  let result: TestResult = true
  const answers: TestResult[] = [
    ...('equals' in test ? [canonical(value) === canonical(test.equals)] : []),
    ...(test.glob === undefined ? [] : [typeof value === 'string' && matchesGlob(test.glob, value)]),
    ...(test.min === undefined ? [] : [typeof value === 'number' && value >= test.min]),
    ...(test.max === undefined ? [] : [typeof value === 'number' && value <= test.max]),
    ...(test.inside === undefined ? [] : [typeof value === 'string' && isInside(value, test.inside, base)]),
  ]
  for (const answer of answers) {
    if (answer === false) return false
    if (answer === undefined) result = undefined
  }
  return result
}

/** The values that a pointer selects, with `absent` for a missing branch; undefined if there are too many. */
function select(value: unknown, pointer: string): unknown[] | undefined {
  let selected: unknown[] = [value]
  for (const segment of segments(pointer)) {
    selected = selected.flatMap((item) => step(item, segment))
    if (selected.length > maxSelected) return undefined
  }
  return selected
}

function segments(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
}

function step(value: unknown, segment: string): unknown[] {
  if (Array.isArray(value)) {
    if (segment === '*') return value
    return /^(?:0|[1-9]\d*)$/.test(segment) && Number(segment) < value.length
      ? [value[Number(segment)]]
      : [absent]
  }
  if (!isRecord(value)) return [absent]
  if (segment === '*') return Object.values(value)
  return Object.hasOwn(value, segment) ? [value[segment]] : [absent]
}

const maxSteps = 512
const separator = sep === '/' ? '/' : /[/\\]/

/** The result of a test; undefined if it cannot be evaluated. */
type TestResult = boolean | undefined

/**
 * Whether a path or `file:` URI is in or equal to one of the folders, after resolving `..` and links. Relative paths start at
 * `base`. An ambiguous path is inside only if every interpretation is inside, and outside only if every interpretation is
 * outside.
 */
export function isInside(value: string, folders: readonly string[], base: string | undefined): TestResult {
  const paths = interpretationsOf(value, base)
  if (paths === undefined) return undefined
  const answers = folders.flatMap((folder) =>
    paths.map((path) => ({ folder, inside: isPathInside(path, folder) })),
  )
  const isSurelyInside = folders.some((folder) =>
    answers.every((answer) => answer.folder !== folder || answer.inside === true),
  )
  if (isSurelyInside) return true
  return answers.every(({ inside }) => inside === false) ? false : undefined
}

/** The absolute paths that a server may interpret the text as; undefined if unknown. */
function interpretationsOf(value: string, base: string | undefined): string[] | undefined {
  if (value === '' || value.includes('\0')) return undefined
  if (/^file:/i.test(value)) {
    try {
      return [fileURLToPath(value)]
    } catch {
      return undefined
    }
  }
  if (/^[a-z][a-z0-9+.-]+:/i.test(value)) return undefined
  if (isAbsolute(value)) return [value]
  if (base === undefined || !isAbsolute(base)) return undefined
  const relativePath = `${base}${sep}${value}`
  return /^~(?:[/\\]|$)/.test(value) ? [relativePath, join(homedir(), value.slice(1))] : [relativePath]
}

function isPathInside(path: string, folder: string): TestResult {
  if (!isAbsolute(folder)) return undefined
  const realFolder = resolveLinks(folder)
  const [stepwise, normalized] = [resolveLinks(path), resolveLinks(resolve(path))]
  if (realFolder === undefined || stepwise === undefined || normalized === undefined) return undefined
  const [a, b] = [isBelow(stepwise, realFolder), isBelow(normalized, realFolder)]
  return a === b ? a : undefined
}

/** Compares by name, and by file system identity. */
function isBelow(path: string, folder: string): boolean {
  const rest = relative(folder, path)
  if (rest === '' || (rest !== '..' && !rest.startsWith(`..${sep}`) && !isAbsolute(rest))) return true
  const folderIdentity = identityOf(folder)
  for (let ancestor = path; folderIdentity !== undefined; ancestor = dirname(ancestor)) {
    if (identityOf(ancestor) === folderIdentity) return true
    if (ancestor === dirname(ancestor)) return false
  }
  return false
}

function identityOf(path: string): string | undefined {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false })
  return stats === undefined ? undefined : `${stats.dev}:${stats.ino}`
}

/** Resolves `..` and links step by step, as the system does; missing steps stay as written. */
function resolveLinks(path: string): string | undefined {
  const { root } = parse(path)
  const remaining = path.slice(root.length).split(separator).reverse()
  let current = root
  for (let steps = 0; remaining.length > 0; steps += 1) {
    if (steps > maxSteps) return undefined
    const name = remaining.pop()
    if (name === undefined || name === '' || name === '.') continue
    if (name === '..') {
      current = dirname(current)
      continue
    }
    const next = join(current, name)
    try {
      if (lstatSync(next, { throwIfNoEntry: false })?.isSymbolicLink() !== true) {
        current = next
        continue
      }
      const target = readlinkSync(next)
      remaining.push(...target.split(separator).reverse())
      if (isAbsolute(target)) current = parse(target).root
    } catch {
      return undefined
    }
  }
  return current
}
