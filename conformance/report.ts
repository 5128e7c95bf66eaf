import type { Check, Requirements, Role } from './harness.ts'

/** How the scenarios of one role at one revision went. */
export interface Leg {
  role: Role
  revision: string
  scored: Scenario[]
  unscored: Scenario[]
}

export interface Scenario {
  name: string
  passed: boolean
  failures: string[]
  warnings: string[]
}

/** Judges what a run left behind: a scenario passes with at least one success and no failure. */
export function judge(
  role: Role,
  revision: string,
  required: Requirements,
  found: ReadonlyMap<string, Check[]>,
  only: string | undefined,
): Leg {
  const of = (names: string[]): Scenario[] =>
    names
      .filter((name) => only === undefined || name === only)
      .map((name) => judgeScenario(name, found.get(name)))
  return { role, revision, scored: of(required.scored), unscored: of(required.unscored) }
}

function judgeScenario(name: string, checks: Check[] | undefined): Scenario {
  if (checks === undefined) return { name, passed: false, failures: ['left no results'], warnings: [] }
  const failures = checks.filter(({ status }) => status === 'FAILURE').map(told)
  const successes = checks.some(({ status }) => status === 'SUCCESS')
  if (!successes && failures.length === 0) failures.push('no check succeeded')
  return {
    name,
    passed: failures.length === 0,
    failures,
    warnings: checks.filter(({ status }) => status === 'WARNING').map(told),
  }
}

function told({ id, errorMessage, description, details }: Check): string {
  const text = errorMessage ?? (details === undefined ? description : JSON.stringify(details).slice(0, 400))
  return `${id}: ${text ?? 'no message'}`
}

/** Prints a leg: what failed or warned in full, and scenarios that are not scored by name unless all is wanted. */
export function print({ role, revision, scored, unscored }: Leg, all: boolean): void {
  console.log(`\n${role} ${revision}`)
  if (scored.length > 0) console.log(`  scored      ${tally(scored)} passed`)
  for (const scenario of scored) explain(scenario)
  if (unscored.length === 0) return
  const failed = unscored.filter(({ passed }) => !passed).map(({ name }) => name)
  console.log(
    `  not scored  ${tally(unscored)} passed${failed.length > 0 ? `; not: ${failed.join(', ')}` : ''}`,
  )
  for (const scenario of unscored) if (all || scenario.passed) explain(scenario)
}

function explain({ name, passed, failures, warnings }: Scenario): void {
  if (passed && warnings.length === 0) return
  console.log(`  ${passed ? '!' : '✗'} ${name}`)
  for (const failure of failures) console.log(`      failed  ${failure}`)
  for (const warning of warnings) console.log(`      warned  ${warning}`)
}

/** All legs in one line. */
export function summary(legs: readonly Leg[]): string {
  const roles = [...new Set(legs.map(({ role }) => role))]
  return roles
    .map((role) => {
      const mine = legs.filter((leg) => leg.role === role)
      const scored = mine.flatMap((leg) => leg.scored)
      return scored.length > 0
        ? `${role} ${tally(scored)} scored`
        : `${role} ${tally(mine.flatMap(({ unscored }) => unscored))} not scored`
    })
    .join(', ')
}

function tally(scenarios: readonly Scenario[]): string {
  return `${scenarios.filter(({ passed }) => passed).length}/${scenarios.length}`
}
