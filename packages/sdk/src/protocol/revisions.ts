import type { ProtocolVersion } from './methods.ts'
import type { Revision } from './revision.ts'
import { sessionRevision } from './session-revision.ts'
import { stateless } from './stateless.ts'

/** Every published revision by its version. */
export const revisions: Readonly<Record<ProtocolVersion, Revision>> = {
  '2024-11-05': sessionRevision('2024-11-05'),
  '2025-03-26': sessionRevision('2025-03-26'),
  '2025-06-18': sessionRevision('2025-06-18'),
  '2025-11-25': sessionRevision('2025-11-25'),
  '2026-07-28': stateless,
}

const byVersion: ReadonlyMap<string, Revision> = new Map(Object.entries(revisions))

/** The revision of a version string, or undefined for one that was never published. */
export function revisionOf(version: string): Revision | undefined {
  return byVersion.get(version)
}
