import type { ProtocolVersion } from '@jackfield/sdk'
import { type Client, type ConnectOptions, connect } from '@jackfield/sdk/client'
import { onTestFinished } from 'vitest'
import { faultyPeer } from '../../../../test/setup/faulty-peer.ts'
import type { Served, Transport } from '../transports/everywhere.ts'
import type { Kind } from '../transports/kinds.ts'
import type { ServerName } from '../transports/servers.ts'
import { exerciseEverything } from './everything.ts'
import { RawClient, type RawOptions } from './raw-client.ts'
import type { DedicatedServer, MatrixCell, RecordedClient } from './rule.ts'
import { handlerOf, type Script, type ScriptedConnection, type ScriptedServer } from './scripted-server.ts'
import { type RecordedMessage, Transcript } from './transcript.ts'

/** A cell that serves every server once, for all its rules. */
export class SharedMatrixCell implements MatrixCell {
  readonly version: ProtocolVersion
  readonly transport: Kind
  readonly #transport: Transport
  readonly #served = new Map<ServerName, Promise<Served>>()
  readonly #raws = new Map<ServerName, Promise<RawClient>>()
  readonly #connections = new Map<ServerName, Promise<RecordedClient>>()
  #everything: Promise<readonly RecordedMessage[]> | undefined

  constructor(transport: Transport, version: ProtocolVersion) {
    this.version = version
    this.transport = transport.name
    this.#transport = transport
  }

  get stateless(): boolean {
    return this.version === '2026-07-28'
  }

  get streams(): boolean {
    return this.transport === 'streamable http'
  }

  everything(): Promise<readonly RecordedMessage[]> {
    this.#everything ??= this.#exercise()
    return this.#everything
  }

  async connect(options?: ConnectOptions, server: ServerName = 'rules'): Promise<RecordedClient> {
    if (options !== undefined) {
      const connection = await this.#connect(options, server)
      onTestFinished(() => connection.client.close())
      return connection
    }
    const shared = this.#connections.get(server) ?? this.#connect({ cache: false }, server)
    this.#connections.set(server, shared)
    const { client, transcript } = await shared
    transcript.clear()
    return { client, transcript }
  }

  async raw(options?: RawOptions, server: ServerName = 'rules'): Promise<RawClient> {
    if (options !== undefined) {
      const raw = await this.#raw(options, server)
      onTestFinished(() => raw.close())
      return raw
    }
    const shared = this.#raws.get(server) ?? this.#raw({}, server)
    this.#raws.set(server, shared)
    const raw = await shared
    raw.forget()
    return raw
  }

  async serveScript(script: Script): Promise<ScriptedServer> {
    const received: unknown[] = []
    const warnings: string[] = []
    const transcript = new Transcript()
    const { target, close } = await this.#transport.serveScript(handlerOf(this.version, script, received))
    onTestFinished(close)
    return {
      received: received,
      warnings,
      transcript,
      connect: async (options = {}) => {
        const client: Client = await connect(target, {
          revisions: [this.version],
          onWarning: (text) => warnings.push(text),
          onMessage: (direction, message) =>
            transcript.record(direction === 'sent' ? 'client' : 'server', message),
          ...options,
        })
        onTestFinished(() => client.close())
        return client
      },
    }
  }

  async connectToScript(script: Script, options: ConnectOptions = {}): Promise<ScriptedConnection> {
    const scripted = await this.serveScript(script)
    return { ...scripted, client: await scripted.connect(options) }
  }

  async dedicated(options: RawOptions = {}, server: ServerName = 'rules'): Promise<DedicatedServer> {
    const served = await this.#transport.open(server)
    const raw = new RawClient(this.version, options)
    onTestFinished(async () => {
      await raw.close()
      await served.close()
    })
    await raw.open((receive) => served.dial(receive), options.begin)
    return {
      raw,
      async end() {
        if (!(await raw.endByServer())) await served.close()
      },
    }
  }

  faulty(reason: string): void {
    faultyPeer(reason)
  }

  async close(): Promise<void> {
    for (const raw of this.#raws.values()) await (await raw).close()
    for (const connection of this.#connections.values()) await (await connection).client.close()
    for (const served of this.#served.values()) await (await served).close()
  }

  #serve(server: ServerName): Promise<Served> {
    const served = this.#served.get(server) ?? this.#transport.open(server)
    this.#served.set(server, served)
    return served
  }

  async #raw(options: RawOptions, server: ServerName): Promise<RawClient> {
    const served = await this.#serve(server)
    const raw = new RawClient(this.version, options)
    await raw.open((receive) => served.dial(receive), options.begin)
    return raw
  }

  async #connect(options: ConnectOptions, server: ServerName): Promise<RecordedClient> {
    const transcript = new Transcript()
    const served = await this.#serve(server)
    const client = await served.connect({
      onMessage: (direction, message) =>
        transcript.record(direction === 'sent' ? 'client' : 'server', message),
      ...options,
      revisions: [this.version],
    })
    return { client, transcript }
  }

  async #exercise(): Promise<readonly RecordedMessage[]> {
    const connection = (options: ConnectOptions): Promise<RecordedClient> => this.#connect(options, 'rules')
    // Every rule that needs the messages would wait as long as the first.
    const stuck = Promise.withResolvers<never>()
    const timer = setTimeout(() => stuck.reject(new Error('The conversation got stuck')), 20_000)
    try {
      return await Promise.race([exerciseEverything(connection, this.version), stuck.promise])
    } finally {
      clearTimeout(timer)
    }
  }
}
