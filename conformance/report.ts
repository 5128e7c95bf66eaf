import type { Check, Requirements, Role } from './harness.ts'

/** How the scenarios of one leg went. */
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
  /** Why it cannot pass. */
  readonly impossible: string | undefined
}

/** Scenarios that no implementation passes, whatever it does, by suite and name. */
const impossible: Readonly<Record<string, string>> = {
  '0.2.0-alpha.12 tasks-status-notifications': 'the suite skips it whatever the server does',
  '0.1.16 auth/2025-03-26-oauth-metadata-backcompat':
    'its metadata names another issuer than the one it is served for, which clients must refuse (RFC 8414, section 3.3)',
}

/** Judges what a run left behind: a scenario passes with at least one success and no failure. */
export function judge(
  leg: Pick<Leg, 'suite' | 'role' | 'title'>,
  required: Requirements,
  found: ReadonlyMap<string, Check[]>,
  only: string | undefined,
): Leg {
  const of = (names: readonly string[]): Scenario[] =>
    names
      .filter((name) => only === undefined || name === only)
      .map((name) => judgeScenario(name, found.get(name), impossible[`${leg.suite} ${name}`]))
  return { ...leg, scored: of(required.scored), unscored: of(required.unscored) }
}

function judgeScenario(name: string, checks: Check[] | undefined, impossible: string | undefined): Scenario {
  if (checks === undefined)
    return { name, passed: false, failures: ['left no results'], warnings: [], impossible }
  const failures = checks.filter(({ status }) => status === 'FAILURE').map(failureText)
  const successes = checks.some(({ status }) => status === 'SUCCESS')
  if (!successes && failures.length === 0) failures.push('no check succeeded')
  return {
    name,
    passed: failures.length === 0,
    failures,
    warnings: checks.filter(({ status }) => status === 'WARNING').map(failureText),
    impossible,
  }
}

function failureText({ id, errorMessage, description, details }: Check): string {
  const text = errorMessage ?? (details === undefined ? description : JSON.stringify(details).slice(0, 400))
  return `${id}: ${text ?? 'no message'}`
}

/** Whether every scenario of a leg passed that can pass. */
export function passes({ scored, unscored }: Leg): boolean {
  return [...scored, ...unscored].every(({ passed, impossible }) => passed || impossible !== undefined)
}

/** Prints a leg, with what failed or warned in full. */
export function print({ suite, role, title, scored, unscored }: Leg): void {
  console.log(`\n${role} ${title} (suite ${suite})`)
  if (scored.length > 0) console.log(`  scored      ${tally(scored)} passed`)
  if (unscored.length > 0)
    console.log(`  ${scored.length > 0 ? 'not scored  ' : ''}${tally(unscored)} passed`)
  for (const scenario of [...scored, ...unscored]) explain(scenario)
}

function explain({ name, passed, failures, warnings, impossible }: Scenario): void {
  if (passed && impossible === undefined && warnings.length === 0) return
  console.log(`  ${passed ? '!' : impossible === undefined ? '✗' : '–'} ${name}`)
  if (impossible !== undefined) console.log(`      nobody can pass it: ${impossible}`)
  else for (const failure of failures) console.log(`      failed  ${failure}`)
  for (const warning of warnings) console.log(`      warned  ${warning}`)
}

/** All legs in one line. */
export function summary(legs: readonly Leg[]): string {
  return [...new Set(legs.map(({ role }) => role))]
    .map((role) => {
      const mine = legs.filter((leg) => leg.role === role)
      const scored = mine.flatMap((leg) => leg.scored)
      const unscored = mine.flatMap((leg) => leg.unscored)
      const unmeasurable = unscored.filter(
        ({ passed, impossible }) => !passed && impossible !== undefined,
      ).length
      const rest = `${tally(unscored)} not scored${unmeasurable > 0 ? ` (${unmeasurable} that nobody can pass)` : ''}`
      return `${role} ${scored.length > 0 ? `${tally(scored)} scored, ` : ''}${rest}`
    })
    .join('; ')
}

function tally(scenarios: readonly Scenario[]): string {
  return `${scenarios.filter(({ passed }) => passed).length}/${scenarios.length}`
}
