import { McpError } from '@jackfield/sdk'
import type { Client, ServerChange } from '@jackfield/sdk/client'
import type { Revocation } from '@jackfield/sdk/client/auth'
import type { Tap } from '../../log/trace/tap.ts'
import type { ServerConfig } from '../../types/index.ts'
import type { Login } from '../login/login.ts'
import { dial } from './dial.ts'
import type { ConnectionOptions } from './options.ts'
import { Quiet } from './quiet.ts'
import { Traffic } from './traffic.ts'

export interface OpenerOptions extends ConnectionOptions {
  /** Aborted when the connection is closed for good. */
  signal: AbortSignal
  onChange: (change: ServerChange) => void
}

/** A client, and what watches over it. */
export interface Opened {
  client: Client
  traffic: Traffic
  /** When it was begun to be spoken to, by `performance.now`. */
  sinceMs: number
  /** To be called when the client is gone. */
  ended: () => void
}

/** The share of the time to ready that a server has for introducing itself; the rest is for its lists. */
const meetingShare = 0.875

/** Opens clients of one server. */
export class Opener {
  readonly #options: OpenerOptions
  #login: Login | undefined

  constructor(options: OpenerOptions) {
    this.#options = options
  }

  /** Whether a person can sign in there. */
  get signsIn(): boolean {
    return this.#login !== undefined
  }

  /** What is started, once the person agreed. */
  prepare(): Promise<ServerConfig> {
    return this.#options.prepare(this.#options.config, this.#options.signal)
  }

  /** `openly` lets the person sign in; otherwise a server that wants that fails with a SignInNeeded. */
  async open(config: ServerConfig, mode: 'quietly' | 'openly'): Promise<Opened> {
    const { identity, eras, revisions, agreedRoots, login, connectTimeoutMs } = this.#options
    const { onStderr, onWarning } = this.#options
    const sinceMs = performance.now()
    this.#login = 'url' in config ? await login(config) : undefined
    const said = new Quiet(onStderr, onWarning)
    const traffic = new Traffic(() => performance.now())
    const tap = this.#options.tap()
    const client = await this.#during(mode, () =>
      dial({
        config,
        identity: identity(),
        eras,
        revisions,
        auth: this.#login?.auth,
        agreedRoots,
        withinMs: Math.ceil(connectTimeoutMs * meetingShare),
        limitMs: connectTimeoutMs,
        fetch: tap.fetch,
        connect: this.#connectOptions(traffic, tap),
        onStderr: (text) => said.push(text),
      }),
    )
    return { client, traffic, sinceMs, ended: () => said.end() }
  }

  /** Does something where the person is asked for no login. */
  quietly<T>(work: () => Promise<T>): Promise<T> {
    return this.#during('quietly', work)
  }

  /** Forgets the tokens and has them revoked. @throws McpError 'INVALID' where they are none of this host's */
  async forget(): Promise<Revocation> {
    const config = await this.prepare()
    const login = 'url' in config ? await this.#options.login(config) : undefined
    if (login === undefined) {
      throw new McpError(
        'INVALID',
        `${this.#options.name} is given its credentials by its configuration. Take them out there`,
      )
    }
    return login.revoke()
  }

  #during<T>(mode: 'quietly' | 'openly', work: () => Promise<T>): Promise<T> {
    return this.#login === undefined ? work() : this.#login.during(mode, work)
  }

  #connectOptions(traffic: Traffic, tap: Tap): Parameters<typeof dial>[0]['connect'] {
    const { client, answers, signal, onWarning, onResourceUpdated, onChange } = this.#options
    return {
      ...client,
      ...answers(),
      signal,
      telemetry: tap.telemetry,
      onWarning,
      onMessage: (direction, message) => {
        traffic.see(direction, message)
        tap.message(direction, message)
        client.onMessage?.(direction, message)
      },
      onChange: (change) => {
        if (change.type === 'resource') onResourceUpdated(change.uri)
        else onChange(change)
      },
    }
  }
}
