import type { ProtocolVersion } from '@jackfield/sdk'
import { has } from '../../packages/sdk/test/matrix/feature.ts'
import { features } from '../../packages/sdk/test/matrix/features.ts'
import { appliesTo } from '../../packages/sdk/test/matrix/rule.ts'
import { rules } from '../../packages/sdk/test/matrix/rules.ts'
import { kinds } from '../../packages/sdk/test/transports/kinds.ts'
import { bonds, type Requirement } from './requirement.ts'

/** The revision that each document is about. */
const revisions: ReadonlyMap<string, ProtocolVersion> = new Map([
  ['2411', '2024-11-05'],
  ['2503', '2025-03-26'],
  ['2506', '2025-06-18'],
  ['2511', '2025-11-25'],
  ['2607', '2026-07-28'],
  ['sep-2243-http', '2026-07-28'],
  ['sep-2663-tasks', '2026-07-28'],
  ['sbp-2026-07-28', '2026-07-28'],
  ['sbp-2025-11-25', '2025-11-25'],
])

/** Where each rule and each feature of the matrix runs, as `transport revision`. */
const places: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ...rules.map((rule): [string, Set<string>] => [
    rule.title,
    everywhere((version) => appliesTo(rule, version)),
  ]),
  ...features.map((one): [string, Set<string>] => [one.title, everywhere((version) => has(one, version))]),
])

function everywhere(stand: (version: ProtocolVersion) => boolean): Set<string> {
  const all = Object.entries(kinds).flatMap(([kind, versions]) =>
    versions.filter(stand).map((version) => `${kind} ${version}`),
  )
  return new Set(all)
}

/** What is wrong with where the tests of a requirement run. */
export function runFaults({ line, places: found, runs, rules: titles }: Requirement): string[] {
  if (runs !== 'everywhere')
    return titles.length === 0 ? [] : [`${line}: names rules, and does not run everywhere`]
  if (titles.length === 0) return [`${line}: runs everywhere, and names no rule that does`]
  const unknown = titles.filter((title) => !places.has(title))
  const ran = new Set(titles.flatMap((title) => [...(places.get(title) ?? [])]))
  const versions = new Set(found.map(([id]) => versionOf(id)))
  const missing = [...everywhere((version) => versions.has(version))].filter((place) => !ran.has(place))
  return [
    ...unknown.map((title) => `${line}: "${title}" is neither a rule nor a feature of the matrix`),
    ...missing.map((place) => `${line}: nothing it names runs over ${place}`),
  ]
}

/** The rules that no requirement names. */
export function unnamedRules(rows: readonly Requirement[]): string[] {
  const named = new Set(rows.flatMap((row) => row.rules))
  return rules.flatMap(({ title }) => (named.has(title) ? [] : [title]))
}

/** Titles that the matrix uses twice. */
export function sharedTitles(): string[] {
  const titles = [...rules, ...features].map(({ title }) => title)
  return titles.filter((title, at) => titles.indexOf(title) !== at)
}

/** The number of rows by where they are tested, as rows of a Markdown table. */
export function countRuns(rows: readonly Requirement[]): string[] {
  const count = (where: string): number => rows.filter(({ runs }) => runs === where).length
  const bound = Object.entries(bonds).map(([bond, what]) => `| ${count(bond)} | ${what} |`)
  return [
    `| ${count('everywhere')} | rules of the protocol, tested over every transport on every revision that has them |`,
    ...bound,
  ]
}

function versionOf(id: string): ProtocolVersion | undefined {
  return revisions.get(id.slice(0, id.lastIndexOf('-')))
}
