import { defined } from '@jackfield/sdk/internal'
import { linearRegex } from '@jackfield/sdk/schema'
import type {
  ModelFacts,
  RedactionRule,
  SamplingLimits,
  SamplingSettings,
  SamplingStage,
} from '../types/index.ts'
import { member, type Reader, reportUnknown } from './reader.ts'

const stages: readonly SamplingStage[] = ['request', 'result']
const builtins = ['api-key', 'bearer-token', 'private-key', 'email'] as const
const counts = ['requestsPerMinute', 'tokensPerDay', 'maxTokens', 'toolRounds', 'autoTokensPerDay'] as const
const amounts = ['costPerDay', 'autoCostPerDay'] as const

type ServerSampling = NonNullable<SamplingSettings['servers']>[string]

/** Parses `jackfield.sampling`. Every error is a problem, since the section restricts access. */
export function readSampling(value: unknown, path: string, reader: Reader): SamplingSettings | undefined {
  const entry = reader.record(value, path)
  if (entry === undefined) return undefined
  reportUnknown(entry, path, ['limits', 'servers', 'redact', 'reviewOffline'], reader)
  const limits = readLimits(entry['limits'], member(path, 'limits'), reader)
  const reviewOffline = reader.flag(entry['reviewOffline'], member(path, 'reviewOffline'))
  const servers = reader.record(entry['servers'], member(path, 'servers'))
  const redact =
    reader.list(entry['redact'], member(path, 'redact'), (item, at) => readRule(item, at, reader)) ?? []
  return {
    ...defined({ limits, reviewOffline }),
    ...(servers !== undefined && {
      servers: Object.fromEntries(
        Object.entries(servers).map(([name, settings]) => [
          name,
          readServer(settings, member(member(path, 'servers'), name), reader),
        ]),
      ),
    }),
    ...(redact.length > 0 && { redact }),
  }
}

/** Parses one entry of `jackfield.models`: the id alone, or an object with the user's settings. */
export function readModel(item: unknown, path: string, reader: Reader): ModelFacts | undefined {
  if (typeof item === 'string') {
    const id = reader.text(item, path)
    return id === undefined ? undefined : { id }
  }
  const entry = reader.record(item ?? null, path)
  if (entry === undefined) return undefined
  reportUnknown(
    entry,
    path,
    ['id', 'name', 'cost', 'currency', 'speed', 'intelligence', 'contextTokens'],
    reader,
  )
  const id = reader.text(entry['id'], member(path, 'id'))
  if (id === undefined) {
    if (entry['id'] === undefined) reader.problem(path, 'needs "id", such as "provider/model"')
    return undefined
  }
  return defined({
    id,
    name: reader.text(entry['name'], member(path, 'name')),
    currency: reader.text(entry['currency'], member(path, 'currency')),
    cost: readCost(entry['cost'], member(path, 'cost'), reader),
    speed: readNumber(entry['speed'], member(path, 'speed'), reader, unitInterval),
    intelligence: readNumber(entry['intelligence'], member(path, 'intelligence'), reader, unitInterval),
    contextTokens: readNumber(entry['contextTokens'], member(path, 'contextTokens'), reader, atLeast(1)),
  })
}

function readCost(value: unknown, path: string, reader: Reader): ModelFacts['cost'] {
  const entry = reader.record(value, path)
  if (entry === undefined) return undefined
  reportUnknown(entry, path, ['input', 'output'], reader)
  const input = readNumber(entry['input'] ?? null, member(path, 'input'), reader, nonNegative)
  const output = readNumber(entry['output'] ?? null, member(path, 'output'), reader, nonNegative)
  return input === undefined || output === undefined ? undefined : { input, output }
}

function readServer(value: unknown, path: string, reader: Reader): ServerSampling {
  const entry = reader.record(value ?? null, path) ?? {}
  reportUnknown(entry, path, ['limits', 'approve', 'reviewOffline'], reader)
  const limits = readLimits(entry['limits'], member(path, 'limits'), reader)
  const approve =
    reader.list(entry['approve'], member(path, 'approve'), (item, at) =>
      reader.oneOf(item ?? null, at, stages),
    ) ?? []
  const reviewOffline = reader.flag(entry['reviewOffline'], member(path, 'reviewOffline'))
  return { ...defined({ limits, reviewOffline }), ...(approve.length > 0 && { approve }) }
}

function readLimits(value: unknown, path: string, reader: Reader): Partial<SamplingLimits> | undefined {
  const entry = reader.record(value, path)
  if (entry === undefined) return undefined
  reportUnknown(entry, path, [...counts, ...amounts], reader)
  const limits: Partial<SamplingLimits> = {}
  for (const name of counts) {
    const minValue = name === 'maxTokens' ? 1 : 0
    const parsed = readNumber(entry[name], member(path, name), reader, atLeast(minValue))
    if (parsed !== undefined) limits[name] = parsed
  }
  for (const name of amounts) {
    const parsed = readNumber(entry[name], member(path, name), reader, nonNegative)
    if (parsed !== undefined) limits[name] = parsed
  }
  return limits
}

function readRule(value: unknown, path: string, reader: Reader): RedactionRule | undefined {
  const entry = reader.record(value ?? null, path)
  if (entry === undefined) return undefined
  if (entry['builtin'] !== undefined) {
    reportUnknown(entry, path, ['builtin', 'off'], reader)
    const builtin = reader.oneOf(entry['builtin'], member(path, 'builtin'), builtins)
    const isOff = reader.flag(entry['off'], member(path, 'off'))
    return builtin === undefined ? undefined : { builtin, ...(isOff !== undefined && { off: isOff }) }
  }
  reportUnknown(entry, path, ['name', 'pattern'], reader)
  const { name, pattern } = entry
  // In a pattern, `$` is the end of the text and no variable.
  if (typeof name !== 'string' || typeof pattern !== 'string') {
    reader.problem(path, `needs "name" and "pattern", or "builtin": ${builtins.join(', ')}`)
    return undefined
  }
  const problem = patternProblem(pattern)
  if (problem === undefined) return { name, pattern }
  reader.problem(member(path, 'pattern'), `cannot be searched for: ${problem}`)
  return undefined
}

interface Bound {
  accepts(value: number): boolean
  description: string
}

const unitInterval: Bound = {
  accepts: (value) => value >= 0 && value <= 1,
  description: 'a number from 0 to 1',
}
const nonNegative: Bound = { accepts: (value) => value >= 0, description: 'a number of 0 or more' }
const atLeast = (minValue: number): Bound => ({
  accepts: (value) => Number.isSafeInteger(value) && value >= minValue,
  description: `a whole number of ${minValue} or more`,
})

function readNumber(value: unknown, path: string, reader: Reader, bound: Bound): number | undefined {
  if (value === undefined) return undefined
  if (typeof value === 'number' && Number.isFinite(value) && bound.accepts(value)) return value
  reader.problem(path, `must be ${bound.description}, not ${JSON.stringify(value)}`)
  return undefined
}

const defaultLimits: SamplingLimits = {
  requestsPerMinute: 5,
  tokensPerDay: 100_000,
  maxTokens: 8_192,
  toolRounds: 10,
  autoTokensPerDay: 20_000,
}

/** The limits of one server: its own, else those of all servers, else the defaults. */
export function limitsOf(server: string, { limits, servers }: SamplingSettings): SamplingLimits {
  return { ...defaultLimits, ...limits, ...entryOf(servers, server)?.limits }
}

/** Why a pattern cannot be used; undefined if it can. */
export function patternProblem(pattern: string): string | undefined {
  try {
    linearRegex(new RegExp(pattern, 'u').source)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** An own entry, never a member of `Object.prototype`. */
export function entryOf<T>(entries: Readonly<Record<string, T>> | undefined, name: string): T | undefined {
  return entries !== undefined && Object.hasOwn(entries, name) ? entries[name] : undefined
}
