import { type ProtocolVersion, protocolVersions } from './methods.ts'
import type { Revision } from './revision.ts'

/** The newest revision. */
export const latest: ProtocolVersion = '2026-07-28'
/** The newest revision with sessions. */
export const latestLegacy: ProtocolVersion = '2025-11-25'

/** Whether a string names a published revision. */
export function isProtocolVersion(version: string): version is ProtocolVersion {
  return (protocolVersions as readonly string[]).includes(version)
}

/** The era of a version string; undefined for one that was never published. */
export function eraOf(version: string): Revision['era'] | undefined {
  if (version === latest) return 'stateless'
  return isProtocolVersion(version) ? 'session' : undefined
}
