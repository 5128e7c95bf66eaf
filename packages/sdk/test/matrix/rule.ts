import type { ProtocolVersion } from '@jackfield/sdk'
import type { Client, ConnectOptions } from '@jackfield/sdk/client'
import { methods } from '../../src/protocol/methods.ts'
import type { Kind } from '../transports/kinds.ts'
import type { ServerName } from '../transports/servers.ts'
import type { RawClient, RawOptions } from './raw-client.ts'
import type { Script, ScriptedConnection, ScriptedServer } from './scripted-server.ts'
import type { RecordedMessage, Transcript } from './transcript.ts'

/** A client and what it and its server said to each other so far. */
export interface RecordedClient {
  readonly client: Client
  readonly transcript: Transcript
}

/** A raw client of a server that no other client uses. */
export interface DedicatedServer {
  readonly raw: RawClient
  /** Has the server end in good order. */
  end(): Promise<void>
}

/** Where one run of a rule happens: a transport, at a revision. Everything it opens is closed when the run is over. */
export interface MatrixCell {
  readonly version: ProtocolVersion
  /** Whether every request is stateless and contains everything about its sender. */
  readonly stateless: boolean
  readonly transport: Kind
  /** Whether what is said about a request comes on a stream of its own. */
  readonly streams: boolean
  /** All that a client and a server have to say to each other; held once, for all rules that look into it. */
  everything(): Promise<readonly RecordedMessage[]>
  /** Connects a client to one of the servers, by default the one for the rules. Without options it is one that all rules share. */
  connect(options?: ConnectOptions, server?: ServerName): Promise<RecordedClient>
  /**
   * Reaches one of the servers with no client in between, and begins a session where there are such. Without options it
   * is one that all rules share, and may hear of changes that others make.
   */
  raw(options?: RawOptions, server?: ServerName): Promise<RawClient>
  /** Has a server played by hand. */
  serveScript(script: Script): Promise<ScriptedServer>
  /** The same, with a client that met it. */
  connectToScript(script: Script, options?: ConnectOptions): Promise<ScriptedConnection>
  /** The same with a server of its own, which can be ended. */
  dedicated(options?: RawOptions, server?: ServerName): Promise<DedicatedServer>
  /** Says that this run has a raw client, or a server played by hand, say something wrong on purpose. */
  faulty(reason: string): void
}

/** A rule of the protocol that can be seen on the wire, held over every transport on every revision that has it. */
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
