import type { ProtocolVersion } from '@jackfield/sdk'
import { type Client, type ConnectOptions, connect } from '@jackfield/sdk/client'
import { onTestFinished } from 'vitest'
import { faultyPeer } from '../../../../test/setup/faulty-peer.ts'
import type { Served, Transport } from '../transports/everywhere.ts'
import type { Kind } from '../transports/kinds.ts'
import type { ServerName } from '../transports/servers.ts'
import { sayEverything } from './everything.ts'
import { type Met, type Played, partOf, type Script } from './played.ts'
import { Raw, type RawOptions } from './raw.ts'
import type { Alone, Ground, Talk } from './rule.ts'
import { type Said, Transcript } from './transcript.ts'

/** A transport at a revision: serves every server once, for all rules that are tried there. */
export class SharedGround implements Ground {
  readonly version: ProtocolVersion
  readonly transport: Kind
  readonly #transport: Transport
  readonly #served = new Map<ServerName, Promise<Served>>()
  readonly #raws = new Map<ServerName, Promise<Raw>>()
  readonly #talks = new Map<ServerName, Promise<Talk>>()
  #everything: Promise<readonly Said[]> | undefined

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

  everything(): Promise<readonly Said[]> {
    this.#everything ??= this.#sayEverything()
    return this.#everything
  }

  async talk(options?: ConnectOptions, server: ServerName = 'rules'): Promise<Talk> {
    if (options !== undefined) {
      const talk = await this.#talk(options, server)
      onTestFinished(() => talk.client.close())
      return talk
    }
    const shared = this.#talks.get(server) ?? this.#talk({ cache: false }, server)
    this.#talks.set(server, shared)
    const { client, said } = await shared
    said.forget()
    return { client, said }
  }

  async raw(options?: RawOptions, server: ServerName = 'rules'): Promise<Raw> {
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

  async play(script: Script): Promise<Played> {
    const received: unknown[] = []
    const warnings: string[] = []
    const said = new Transcript()
    const { target, close } = await this.#transport.play(partOf(this.version, script, received))
    onTestFinished(close)
    return {
      received: received,
      warnings,
      said,
      connect: async (options = {}) => {
        const client: Client = await connect(target, {
          revisions: [this.version],
          onWarning: (text) => warnings.push(text),
          onMessage: (direction, message) => said.keep(direction === 'sent' ? 'client' : 'server', message),
          ...options,
        })
        onTestFinished(() => client.close())
        return client
      },
    }
  }

  async meet(script: Script, options: ConnectOptions = {}): Promise<Met> {
    const played = await this.play(script)
    return { ...played, client: await played.connect(options) }
  }

  async alone(options: RawOptions = {}, server: ServerName = 'rules'): Promise<Alone> {
    const served = await this.#transport.open(server)
    const raw = new Raw(this.version, options)
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
    for (const talk of this.#talks.values()) await (await talk).client.close()
    for (const served of this.#served.values()) await (await served).close()
  }

  #serve(server: ServerName): Promise<Served> {
    const served = this.#served.get(server) ?? this.#transport.open(server)
    this.#served.set(server, served)
    return served
  }

  async #raw(options: RawOptions, server: ServerName): Promise<Raw> {
    const served = await this.#serve(server)
    const raw = new Raw(this.version, options)
    await raw.open((receive) => served.dial(receive), options.begin)
    return raw
  }

  async #talk(options: ConnectOptions, server: ServerName): Promise<Talk> {
    const said = new Transcript()
    const served = await this.#serve(server)
    const client = await served.connect({
      onMessage: (direction, message) => said.keep(direction === 'sent' ? 'client' : 'server', message),
      ...options,
      revisions: [this.version],
    })
    return { client, said }
  }

  async #sayEverything(): Promise<readonly Said[]> {
    const talk = (options: ConnectOptions): Promise<Talk> => this.#talk(options, 'rules')
    // Every rule that looks into it would wait as long as the first.
    const stuck = Promise.withResolvers<never>()
    const timer = setTimeout(() => stuck.reject(new Error('The conversation got stuck')), 20_000)
    try {
      return await Promise.race([sayEverything(talk, this.version), stuck.promise])
    } finally {
      clearTimeout(timer)
    }
  }
}
