import { matchesGlob } from '../../shared/glob.ts'
import { canonical, isRecord } from '../../shared/json.ts'
import type { ArgumentTest } from '../../types/index.ts'
import { isInside, type Known } from './paths.ts'

const absent: unique symbol = Symbol('absent')
const maxSelected = 10_000

/** How several values of one pointer count: every one must surely fit, or any may. */
export type Demand = 'every' | 'any'

/**
 * Whether all tests hold. `base`: the folder that relative paths count from, where known. Where nobody can tell, the
 * answer is the one that keeps a call from happening unasked: no for `every`, yes for `any`.
 */
export function testsHold(
  tests: readonly ArgumentTest[],
  args: unknown,
  demand: Demand,
  base: string | undefined,
): boolean {
  return tests.every((test) => {
    const selected = select(args, test.at)
    if (selected === undefined) return demand === 'any'
    const fits = (value: unknown): Known => (value === absent ? false : fitsOne(test, value, base))
    return demand === 'every'
      ? selected.length > 0 && selected.every((value) => fits(value) === true)
      : selected.some((value) => fits(value) !== false)
  })
}

function fitsOne(test: ArgumentTest, value: unknown, base: string | undefined): Known {
  let known: Known = true
  const answers: Known[] = [
    ...('equals' in test ? [canonical(value) === canonical(test.equals)] : []),
    ...(test.glob === undefined ? [] : [typeof value === 'string' && matchesGlob(test.glob, value)]),
    ...(test.min === undefined ? [] : [typeof value === 'number' && value >= test.min]),
    ...(test.max === undefined ? [] : [typeof value === 'number' && value <= test.max]),
    ...(test.inside === undefined ? [] : [typeof value === 'string' && isInside(value, test.inside, base)]),
  ]
  for (const answer of answers) {
    if (answer === false) return false
    if (answer === undefined) known = undefined
  }
  return known
}

/** The values a pointer stands for, with `absent` where a branch has none; undefined where there are too many. */
function select(value: unknown, pointer: string): unknown[] | undefined {
  let found: unknown[] = [value]
  for (const segment of segments(pointer)) {
    found = found.flatMap((at) => step(at, segment))
    if (found.length > maxSelected) return undefined
  }
  return found
}

function segments(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
}

function step(at: unknown, segment: string): unknown[] {
  if (Array.isArray(at)) {
    if (segment === '*') return at
    return /^(?:0|[1-9]\d*)$/.test(segment) && Number(segment) < at.length ? [at[Number(segment)]] : [absent]
  }
  if (!isRecord(at)) return [absent]
  if (segment === '*') return Object.values(at)
  return Object.hasOwn(at, segment) ? [at[segment]] : [absent]
}

/** What is wrong with something that should be a list of argument tests; undefined where nothing is. */
export function problemWithTests(value: unknown): string | undefined {
  if (!Array.isArray(value)) return 'must be a list'
  for (const [index, test] of value.entries()) {
    const problem = isRecord(test) ? problemWithTest(test) : 'must be an object'
    if (problem !== undefined) return `[${index}] ${problem}`
  }
  return undefined
}

function problemWithTest(test: Record<string, unknown>): string | undefined {
  const known = ['at', 'equals', 'glob', 'min', 'max', 'inside']
  const strange = Object.keys(test).find((name) => !known.includes(name))
  if (strange !== undefined) return `.${strange} is unknown. Known are ${known.join(', ')}`
  const { at, glob, min, max, inside } = test
  if (typeof at !== 'string') return '.at must be a JSON Pointer such as "/path"'
  if ((at !== '' && !at.startsWith('/')) || /~(?![01])/.test(at)) {
    return '.at is no JSON Pointer: it begins with "/", and "~" is written "~0", a "/" in a name "~1"'
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

/** Whether this is a list of argument tests that can be followed. */
export function areTests(value: unknown): value is readonly ArgumentTest[] {
  return problemWithTests(value) === undefined
}
