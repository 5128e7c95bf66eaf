import {
  current,
  previous,
  type Requirements,
  type Role,
  requirements,
  type Suite,
  scenarios,
} from './harness.ts'

/** One run of a suite (a leg): its scenarios, and the options of the suite for them. */
export interface SuiteRun {
  readonly suite: Suite
  readonly role: Role
  /** The name of the leg, in the output and for `--leg`. */
  readonly title: string
  readonly required: Requirements
  /** The options for all scenarios at once; absent if they are run one by one. */
  readonly all?: readonly string[]
  /** The options for one scenario. */
  one(scenario: string): readonly string[]
}

export const titles: readonly string[] = ['2025-11-25', '2026-07-28', 'extensions', 'previous']

/**
 * All legs of both suites for one role. Clients are run one by one: a suite would start about fifty at once, which then time out on a
 * busy machine.
 */
export async function suiteRuns(role: Role): Promise<SuiteRun[]> {
  const byRevision = await Promise.all(
    ['2025-11-25', '2026-07-28'].map(
      async (revision): Promise<SuiteRun> => ({
        suite: current,
        role,
        title: revision,
        required: (await requirements(revision))[role],
        ...(role === 'server' && { all: ['--requirements', revision] }),
        one: (scenario) => ['--scenario', scenario, '--spec-version', revision, '--force'],
      }),
    ),
  )
  return [...byRevision, await extensions(role, byRevision), await older(role)]
}

/** The scenarios of the current suite that no revision requires. */
async function extensions(role: Role, byRevision: readonly SuiteRun[]): Promise<SuiteRun> {
  const required = new Set(
    byRevision.flatMap(({ required: { scored, unscored } }) => [...scored, ...unscored]),
  )
  const rest = (await scenarios(current))[role].filter((name) => !required.has(name))
  return {
    suite: current,
    role,
    title: 'extensions',
    required: { scored: [], unscored: rest },
    one: (scenario) => ['--scenario', scenario],
  }
}

/** All scenarios of the suite before the current one. */
async function older(role: Role): Promise<SuiteRun> {
  return {
    suite: previous,
    role,
    title: 'previous',
    required: { scored: [], unscored: (await scenarios(previous))[role] },
    ...(role === 'server' && { all: ['--suite', 'all'] }),
    one: (scenario) => ['--scenario', scenario],
  }
}
