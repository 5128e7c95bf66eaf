import type { Check, Requirements, Role } from './harness.ts'

/** The results of one leg. */
export interface Leg {
  readonly suite: string
  readonly role: Role
  readonly title: string
  readonly scored: readonly Scenario[]
  readonly unscored: readonly Scenario[]
}

export interface Scenario {
  readonly name: string
  readonly passed: boolean
  readonly failures: readonly string[]
  readonly warnings: readonly string[]
  /** Why no implementation can pass it; undefined if one can. */
  readonly unpassable: string | undefined
}

/** Scenarios that no implementation can pass, by suite and name, with the reason. */
const unpassable: Readonly<Record<string, string>> = {
  '0.2.0-alpha.12 tasks-status-notifications': 'the suite always skips it',
  '0.1.16 auth/2025-03-26-oauth-metadata-backcompat':
    'its metadata names another issuer than the one it is served for, which clients must refuse (RFC 8414, section 3.3)',
}

/** Evaluates the results of a run: a scenario passes with at least one success and no failure. */
export function evaluate(
  leg: Pick<Leg, 'suite' | 'role' | 'title'>,
  required: Requirements,
  found: ReadonlyMap<string, Check[]>,
  only: string | undefined,
): Leg {
  const evaluateAll = (names: readonly string[]): Scenario[] =>
    names
      .filter((name) => only === undefined || name === only)
      .map((name) => evaluateScenario(name, found.get(name), unpassable[`${leg.suite} ${name}`]))
  return { ...leg, scored: evaluateAll(required.scored), unscored: evaluateAll(required.unscored) }
}

function evaluateScenario(
  name: string,
  checks: Check[] | undefined,
  unpassable: string | undefined,
): Scenario {
  if (checks === undefined)
    return { name, passed: false, failures: ['has no results'], warnings: [], unpassable }
  const failures = checks.filter(({ status }) => status === 'FAILURE').map(failureText)
  const successes = checks.some(({ status }) => status === 'SUCCESS')
  if (!successes && failures.length === 0) failures.push('no check succeeded')
  return {
    name,
    passed: failures.length === 0,
    failures,
    warnings: checks.filter(({ status }) => status === 'WARNING').map(failureText),
    unpassable,
  }
}

function failureText({ id, errorMessage, description, details }: Check): string {
  const text = errorMessage ?? (details === undefined ? description : JSON.stringify(details).slice(0, 400))
  return `${id}: ${text ?? 'no message'}`
}

/** Whether all scenarios of a leg passed, except those that no implementation can pass. */
export function passes({ scored, unscored }: Leg): boolean {
  return [...scored, ...unscored].every(({ passed, unpassable }) => passed || unpassable !== undefined)
}

/** Prints a leg, with all failures and warnings. */
export function print({ suite, role, title, scored, unscored }: Leg): void {
  console.log(`\n${role} ${title} (suite ${suite})`)
  if (scored.length > 0) console.log(`  scored      ${tally(scored)} passed`)
  if (unscored.length > 0)
    console.log(`  ${scored.length > 0 ? 'not scored  ' : ''}${tally(unscored)} passed`)
  for (const scenario of [...scored, ...unscored]) printScenario(scenario)
}

function printScenario({ name, passed, failures, warnings, unpassable }: Scenario): void {
  if (passed && unpassable === undefined && warnings.length === 0) return
  console.log(`  ${passed ? '!' : unpassable === undefined ? '✗' : '–'} ${name}`)
  if (unpassable !== undefined) console.log(`      no implementation can pass it: ${unpassable}`)
  else for (const failure of failures) console.log(`      failed  ${failure}`)
  for (const warning of warnings) console.log(`      warned  ${warning}`)
}

/** A summary of all legs in one line. */
export function summary(legs: readonly Leg[]): string {
  return [...new Set(legs.map(({ role }) => role))]
    .map((role) => {
      const legsOfRole = legs.filter((leg) => leg.role === role)
      const scored = legsOfRole.flatMap((leg) => leg.scored)
      const unscored = legsOfRole.flatMap((leg) => leg.unscored)
      const unpassableCount = unscored.filter(
        ({ passed, unpassable }) => !passed && unpassable !== undefined,
      ).length
      const rest = `${tally(unscored)} not scored${unpassableCount > 0 ? ` (${unpassableCount} that no implementation can pass)` : ''}`
      return `${role} ${scored.length > 0 ? `${tally(scored)} scored, ` : ''}${rest}`
    })
    .join('; ')
}

function tally(scenarios: readonly Scenario[]): string {
  return `${scenarios.filter(({ passed }) => passed).length}/${scenarios.length}`
}
