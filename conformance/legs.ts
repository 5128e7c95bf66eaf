import {
  current,
  previous,
  type Requirements,
  type Role,
  requirements,
  type Suite,
  scenarios,
} from './harness.ts'

/** One run of a suite: which scenarios it plays, and how it is told to. */
export interface Plan {
  readonly suite: Suite
  readonly role: Role
  /** What a person sees it called, and may choose it by. */
  readonly title: string
  readonly required: Requirements
  /** The suite's options for all of its scenarios at once; absent where they are played one by one. */
  readonly all?: readonly string[]
  /** The suite's options for one of its scenarios. */
  one(scenario: string): readonly string[]
}

export const titles: readonly string[] = ['2025-11-25', '2026-07-28', 'extensions', 'previous']

/**
 * Every leg of both suites for one role. Left to itself a suite starts all clients at once, fifty of them, and then
 * measures the machine more than the client.
 */
export async function plans(role: Role): Promise<Plan[]> {
  const byRevision = await Promise.all(
    ['2025-11-25', '2026-07-28'].map(
      async (revision): Promise<Plan> => ({
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

/** What the current suite has beyond any revision's requirements. */
async function extensions(role: Role, byRevision: readonly Plan[]): Promise<Plan> {
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

/** Everything in the suite before the current one. */
async function older(role: Role): Promise<Plan> {
  return {
    suite: previous,
    role,
    title: 'previous',
    required: { scored: [], unscored: (await scenarios(previous))[role] },
    ...(role === 'server' && { all: ['--suite', 'all'] }),
    one: (scenario) => ['--scenario', scenario],
  }
}
