import { sandboxReady } from '../../src/sandbox/index.ts'

const found = await sandboxReady()

/** Why tests with a sandbox are left out here, or undefined. */
export const withoutSandbox: string | undefined = found.ready
  ? undefined
  : `needs bubblewrap (bwrap): ${found.reason}`

/** The name of a group of tests that needs bubblewrap, which says so where it is missing. */
export function named(name: string): string {
  return withoutSandbox === undefined ? name : `${name} [left out: it ${withoutSandbox}]`
}
