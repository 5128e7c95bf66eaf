import { matchesGlob } from '../../shared/glob.ts'
import type { ServerSettings } from '../../types/index.ts'

type Choice = NonNullable<ServerSettings['tools']>

/** Whether the person wants this tool of a server offered, by its own name. */
export function isOffered(name: string, { only, without = [] }: Choice = {}): boolean {
  return (only === undefined || among(only, name)) && !among(without, name)
}

/** Whether models are to be given it in full at all times. */
export function isAlways(name: string, { always = [] }: Choice = {}): boolean {
  return among(always, name)
}

function among(globs: readonly string[], name: string): boolean {
  return globs.some((glob) => matchesGlob(glob, name))
}
