import { matchesGlob } from '../shared/glob.ts'
import type { ServerConfig } from '../types/index.ts'
import { member } from './problem.ts'
import type { Reader } from './reader.ts'

/** A choice among the configured servers, by names or globs. */
export interface Profile {
  /** Default: all that are not disabled. A disabled server that is named in full is enabled. */
  servers?: string[]
  without?: string[]
}

export function readProfiles(value: unknown, path: string, reader: Reader): Record<string, Profile> {
  const entries = reader.record(value, path) ?? {}
  return Object.fromEntries(
    Object.entries(entries).flatMap(([name, item]) => {
      const at = member(path, name)
      const entry = reader.record(item ?? null, at)
      if (entry === undefined) return []
      for (const key of Object.keys(entry)) {
        if (key !== 'servers' && key !== 'without')
          reader.warning(member(at, key), 'is not used. Known are servers, without')
      }
      const servers = reader.texts(entry['servers'], member(at, 'servers'))
      const without = reader.texts(entry['without'], member(at, 'without'))
      return [
        [
          name,
          { ...(servers !== undefined && { servers }), ...(without !== undefined && { without }) },
        ] as const,
      ]
    }),
  )
}

/** The servers as the profile has them: those it leaves out are disabled. */
export function inProfile(
  servers: Record<string, ServerConfig>,
  { servers: wanted, without = [] }: Profile,
): Record<string, ServerConfig> {
  return Object.fromEntries(
    Object.entries(servers).map(([name, config]) => {
      const chosen = wanted === undefined || wanted.some((glob) => matchesGlob(glob, name))
      if (!chosen || without.some((glob) => matchesGlob(glob, name)))
        return [name, { ...config, disabled: true }]
      return [name, wanted?.includes(name) ? { ...config, disabled: false } : config]
    }),
  )
}
