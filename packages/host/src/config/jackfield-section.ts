import { homedir } from 'node:os'
import { isAbsolute, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Root } from '@jackfield/sdk'
import { defined } from '@jackfield/sdk/internal'
import { expandHome } from '../shared/files.ts'
import type { LogSettings, PolicyRule, SamplingSettings, Verdict } from '../types/index.ts'
import { member, type Reader, reportUnknown } from './reader.ts'
import { readRule } from './rule.ts'
import { readModel, readSampling } from './sampling-section.ts'

/** The `jackfield` section of a configuration. */
export interface JackfieldSection {
  rules: PolicyRule[]
  roots: Root[]
  /** Models as `provider/model`, preferred first. */
  models: string[]
  /** Sampling limits of servers, and the settings of each model. */
  sampling: SamplingSettings
  defaultVerdict?: Verdict
  limits: { connectTimeoutMs?: number; callTimeoutMs?: number }
  /** Message logging: what is stored and masked. */
  log: LogSettings
}

const verdicts = ['allow', 'ask', 'deny'] as const

/** Parses the section. `policy` collects errors that make the policy unusable, `other` those of settings that can be left out. */
export function readSection(
  value: unknown,
  path: string,
  folder: string,
  policy: Reader,
  other: Reader,
): JackfieldSection {
  const section = policy.record(value, path) ?? {}
  const knownFields = ['rules', 'roots', 'models', 'defaultVerdict', 'limits', 'log', 'sampling']
  reportUnknown(section, path, knownFields, policy)
  const defaultVerdict = policy.oneOf(section['defaultVerdict'], member(path, 'defaultVerdict'), verdicts)
  const models =
    other.list(section['models'], member(path, 'models'), (item, at) => readModel(item, at, other)) ?? []
  return {
    rules:
      policy.list(section['rules'], member(path, 'rules'), (item, at) =>
        readRule(item, at, folder, policy),
      ) ?? [],
    roots:
      other.list(section['roots'], member(path, 'roots'), (item, at) => readRoot(item, at, folder, other)) ??
      [],
    models: models.map(({ id }) => id),
    sampling: { models, ...readSampling(section['sampling'], member(path, 'sampling'), policy) },
    ...(defaultVerdict !== undefined && { defaultVerdict }),
    limits: readLimits(section['limits'], member(path, 'limits'), other),
    log: readLog(section['log'], member(path, 'log'), other),
  }
}

/** A root is a folder (absolute, from `~`, or from the config file's folder), a `file:` URI, or `{ uri, name }`. */
export function readRoot(item: unknown, path: string, folder: string, reader: Reader): Root | undefined {
  if (typeof item === 'string') {
    const text = reader.text(item, path)
    if (text === undefined) return undefined
    const uri = /^[a-z][a-z0-9+.-]+:/i.test(text) ? text : toFolderUri(text, folder)
    return toRoot(uri, undefined, path, reader)
  }
  const entry = reader.record(item ?? null, path)
  for (const key of Object.keys(entry ?? {})) {
    if (key !== 'uri' && key !== 'name') reader.warning(member(path, key), 'is not used. Known are uri, name')
  }
  const uri = reader.text(entry?.['uri'], member(path, 'uri'))
  const name = reader.text(entry?.['name'], member(path, 'name'))
  if (entry !== undefined && entry['uri'] === undefined) reader.problem(path, 'needs "uri"')
  return uri === undefined ? undefined : toRoot(uri, name, path, reader)
}

function toRoot(uri: string, name: string | undefined, path: string, reader: Reader): Root | undefined {
  const problem = rootProblem(uri)
  if (problem !== undefined) {
    reader.problem(path, problem)
    return undefined
  }
  return { uri, ...(name !== undefined && { name }) }
}

function toFolderUri(text: string, folder: string): string {
  const path = expandHome(text, homedir())
  return pathToFileURL(isAbsolute(path) ? path : resolve(folder, path)).href
}

function readLimits(value: unknown, path: string, reader: Reader): JackfieldSection['limits'] {
  const entry = reader.record(value, path) ?? {}
  reportUnknown(entry, path, ['connectTimeoutMs', 'callTimeoutMs'], reader)
  return defined({
    connectTimeoutMs: reader.milliseconds(entry['connectTimeoutMs'], member(path, 'connectTimeoutMs')),
    callTimeoutMs: reader.milliseconds(entry['callTimeoutMs'], member(path, 'callTimeoutMs')),
  })
}

const maxLogValues = { megabytes: 1_000_000, days: 36_500 }
const headerName = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

function readLog(value: unknown, path: string, reader: Reader): LogSettings {
  const entry = reader.record(value, path) ?? {}
  reportUnknown(entry, path, ['keep', 'megabytes', 'days', 'maskedHeaders', 'traceparent'], reader)
  const count = (name: keyof typeof maxLogValues): number | undefined => {
    const given = entry[name]
    if (given === undefined) return undefined
    if (typeof given === 'number' && given > 0 && given <= maxLogValues[name]) return given
    reader.problem(
      member(path, name),
      `must be a number above 0, at most ${maxLogValues[name]}, not ${JSON.stringify(given)}`,
    )
    return undefined
  }
  const keep = reader.flag(entry['keep'], member(path, 'keep'))
  const traceparent = reader.flag(entry['traceparent'], member(path, 'traceparent'))
  const megabytes = count('megabytes')
  const days = count('days')
  const at = member(path, 'maskedHeaders')
  const maskedHeaders = reader.texts(entry['maskedHeaders'], at)?.filter((name, index) => {
    const isName = headerName.test(name)
    if (!isName) reader.problem(member(at, index), 'is not a header name')
    return isName
  })
  return defined({ keep, megabytes, days, traceparent, maskedHeaders })
}

/** Merges sections: the first that sets something wins, except that masked headers are combined. */
export function mergeLogSettings(sections: readonly LogSettings[]): LogSettings {
  const headers = sections.flatMap(({ maskedHeaders = [] }) => maskedHeaders)
  const merged = Object.assign({}, ...sections.toReversed())
  return headers.length === 0 ? merged : { ...merged, maskedHeaders: [...new Set(headers)] }
}

/** Why a root URI is invalid; undefined if it is valid. Only normalized paths of local folders are allowed. */
export function rootProblem(uri: string): string | undefined {
  const parsed = URL.parse(uri)
  if (parsed === null || parsed.protocol !== 'file:') return `must be a folder or a file: URI, not ${uri}`
  if (parsed.host !== '') return `must be on this machine, not on ${parsed.host}`
  if (/(?:^|[/\\])(?:\.|%2e){2}(?:[/\\]|$)/i.test(uri)) return `must not go up with "..": ${uri}`
  if (/%2f|%5c|%00/i.test(uri)) return `must not hide separators in escapes: ${uri}`
  return undefined
}
