import type { ProtocolVersion } from '@jackfield/sdk'
import type { Client, ConnectOptions } from '@jackfield/sdk/client'
import { methods } from '../../src/protocol/methods.ts'
import type { Kind } from '../transports/kinds.ts'
import type { ServerName } from '../transports/servers.ts'
import type { RawClient, RawOptions } from './raw-client.ts'
import type { Script, ScriptedConnection, ScriptedServer } from './scripted-server.ts'
import type { RecordedMessage, Transcript } from './transcript.ts'

/** A client, and its messages in both directions. */
export interface RecordedClient {
  readonly client: Client
  readonly transcript: Transcript
}

/** A raw client of a server that no other client uses. */
export interface DedicatedServer {
  readonly raw: RawClient
  /** Shuts the server down. */
  end(): Promise<void>
}

/** One cell of the matrix: a transport at a revision. Everything it opens is closed after the run. */
export interface MatrixCell {
  readonly version: ProtocolVersion
  /** Whether every request is stateless and contains everything about its sender. */
  readonly stateless: boolean
  readonly transport: Kind
  /** Whether each request has a response stream of its own. */
  readonly streams: boolean
  /** Every kind of message between a client and a server; exchanged once, and shared by the rules. */
  everything(): Promise<readonly RecordedMessage[]>
  /** Connects a client to one of the servers, by default the one for the rules. Without options it is one that all rules share. */
  connect(options?: ConnectOptions, server?: ServerName): Promise<RecordedClient>
  /**
   * Connects to one of the servers without our client, and begins a session where the revision has them. Without options it
   * is one that all rules share, and may receive notifications of changes that others make.
   */
  raw(options?: RawOptions, server?: ServerName): Promise<RawClient>
  /** Serves a scripted server. */
  serveScript(script: Script): Promise<ScriptedServer>
  /** The same, with a client connected to it. */
  connectToScript(script: Script, options?: ConnectOptions): Promise<ScriptedConnection>
  /** A raw client with a server of its own, which can be shut down. */
  dedicated(options?: RawOptions, server?: ServerName): Promise<DedicatedServer>
  /** Declares that this run's raw client or scripted server sends an invalid message on purpose. */
  faulty(reason: string): void
}

/** A rule of the protocol that messages show, checked over every transport on every revision that has it. */
export interface Rule {
  /** Unique among rules and features; requirements name it. */
  readonly title: string
  /** First revision that has it. Default: all have. */
  readonly since?: ProtocolVersion
  readonly until?: ProtocolVersion
  holds(cell: MatrixCell): Promise<void>
}

export const sessions = { until: '2025-11-25' } as const
export const stateless = { since: '2026-07-28' } as const

/** The revisions that have a method. */
export function revisionsOf(method: keyof typeof methods): Pick<Rule, 'since' | 'until'> {
  const { since, until } = methods[method]
  return until === undefined ? { since } : { since, until }
}

/** Whether a rule applies to a revision. */
export function appliesTo(
  { since, until }: Pick<Rule, 'since' | 'until'>,
  version: ProtocolVersion,
): boolean {
  return (since === undefined || version >= since) && (until === undefined || version <= until)
}
