import { type ProtocolVersion, protocolVersions } from '@jackfield/sdk'

const withSessions = protocolVersions.filter((version) => version < '2026-07-28')

/** Every transport, with the revisions that can be agreed on over it. */
export const kinds = {
  memory: protocolVersions,
  stdio: protocolVersions,
  'unix socket': protocolVersions,
  tcp: protocolVersions,
  'streamable http': protocolVersions,
  'http+sse': withSessions,
} as const satisfies Readonly<Record<string, readonly ProtocolVersion[]>>

/** The name of a transport. */
export type Kind = keyof typeof kinds
