import type { Origins } from '../core/active-requests.ts'
import type { Asker } from '../core/inbox/asker.ts'
import { Advertised, answersFor, discreetly, relayed, type ServerAnswers } from '../core/server-requests.ts'
import type { Tasks } from '../core/tasks.ts'
import type { GatewayRoom } from '../gateway/gateway.ts'
import type { Recorder } from '../log/store/activity-log.ts'
import type { Store } from '../log/store/store.ts'
import type { Trace } from '../log/trace/trace.ts'
import type { Sampling } from '../models/sampling/deps.ts'
import { ServerConnection } from '../servers/connections/connection.ts'
import { isUp } from '../servers/connections/states.ts'
import type { Discretion, Launch } from '../servers/launch/launch.ts'
import type { LoginRoom } from '../servers/login/logins.ts'
import type { Roots } from '../servers/roots/roots.ts'
import { reasonOf } from '../shared/text.ts'
import type { ConnectionState, HostOptions, ServerConfig } from '../types/index.ts'
import { defaults, type Events, type Running } from './running.ts'

interface ConnectingDeps {
  options: HostOptions
  taskExtension: Tasks['extension']
  /** How each server stands, which is kept up to date. */
  states: Map<string, ConnectionState>
  store: Pick<Store, 'forms' | 'eras' | 'manifests' | 'texts'>
  asker: Asker
  origins: Origins
  recorder: Recorder
  discretion: Discretion
  events: Events
  running: Running
  launch: Launch
  logins: LoginRoom
  sampling: Sampling
  roots: Roots
  gateway: GatewayRoom
  trace: Trace
  /** Looks at what a server says about itself. */
  look: (connection: ServerConnection) => void
}

/** Makes the connections of a host: what each server is started with, told, and answered. */
export class Connecting {
  readonly #deps: ConnectingDeps
  readonly #advertised = new Map<string, Advertised>()

  constructor(deps: ConnectingDeps) {
    this.#deps = deps
  }

  /** What answers the questions of a server's parked calls. */
  parked(server: string): ReturnType<Advertised['parked']> {
    return this.#advertised.get(server)?.parked() ?? {}
  }

  /** Puts the visits that a failed request of a server wants first; true where the person made them all. */
  async visitFirst(server: string, ...failed: Parameters<Advertised['visitFirst']>): Promise<boolean> {
    return (await this.#advertised.get(server)?.visitFirst(...failed)) ?? false
  }

  /** Has servers told what can be answered now. */
  facesChanged(servers: ReadonlyMap<string, ServerConnection>): void {
    for (const [name, advertised] of this.#advertised) advertised.changed(servers.get(name)?.client)
  }

  /** The connection of one server. Nothing is started yet. */
  make(name: string, config: ServerConfig): ServerConnection {
    const { options, states, store, discretion, events, launch, logins, roots, trace, look } = this.#deps
    const warn = (message: string): void => events.emit({ type: 'warning', server: name, message })
    const answers = this.#answers(name, config, warn)
    const asked = relayed(answers, name, {
      relays: this.#deps.gateway.relays,
      origins: this.#deps.origins,
    })
    const advertised = new Advertised(discreetly(asked, discretion.redactor), warn)
    this.#advertised.set(name, advertised)
    const connection = new ServerConnection({
      name,
      config: launch.keep(config),
      identity: () => launch.identities.of(config),
      prepare: (given, signal) => launch.prepare(name, given, signal),
      needsApproval: async () => (await launch.consents.needed(name)) !== undefined,
      login: (given) => logins.of(name, given),
      onSignIn: (needed) => logins.needed(name, needed),
      agreedRoots: () => roots.agreed(name),
      eras: store.eras,
      manifests: store.manifests,
      texts: store.texts,
      tap: trace.tap(name, options.connect),
      revisions: options.connect?.revisions,
      idlePingMs: options.connect?.idlePingMs ?? defaults.idlePingMs,
      shown: (state) => discretion.value(state),
      connectTimeoutMs: config.connectTimeoutMs ?? options.connectTimeoutMs ?? defaults.connectTimeoutMs,
      lists: options.connect?.lists,
      follow: options.connect?.follow,
      client: this.#client(name, answers),
      answers: () => advertised.tell(),
      onState: (state) => this.#stateChanged(name, state),
      onLists: () => {
        look(connection)
        events.emit({ type: 'catalog' })
      },
      onResourceUpdated: (uri) => events.emit({ type: 'resource-updated', server: name, uri }),
      onStderr: (text) => events.emit({ type: 'stderr', server: name, text }),
      onWarning: warn,
    })
    states.set(name, connection.state)
    return connection
  }

  #answers(name: string, config: ServerConfig, warn: (message: string) => void): ServerAnswers {
    const { options, store, asker, sampling, roots, origins, recorder, launch, running } = this.#deps
    return answersFor(name, {
      asker,
      sampling,
      roots,
      origins,
      recorder,
      forms: {
        config,
        identity: () => launch.identities.of(config),
        table: store.forms,
        open: options.openPage,
      },
      warn,
      track: (work) => running.track(work),
      signal: running.signal,
    })
  }

  #client(name: string, answers: ServerAnswers): ConstructorParameters<typeof ServerConnection>[0]['client'] {
    const { options, discretion, events } = this.#deps
    const { onMessage } = options.connect ?? {}
    return {
      info: options.info ?? defaults.info,
      logLevel: 'info',
      timeoutMs: options.callTimeoutMs ?? defaults.callTimeoutMs,
      extensions: [this.#deps.taskExtension],
      onElicitationComplete: (id) => answers.visited(id),
      ...(onMessage !== undefined && {
        onMessage: (direction, message) => onMessage(name, direction, discretion.value(message)),
      }),
      onLog: ({ level, logger, data }) =>
        events.emit({ type: 'log', server: name, level, data, ...(logger !== undefined && { logger }) }),
    }
  }

  #stateChanged(server: string, state: ConnectionState): void {
    const { states, recorder, events, origins, logins } = this.#deps
    states.set(server, state)
    if (isUp(state)) logins.ready(server)
    // Whatever ran on the connection before is over, also where it never answered.
    if (state.state !== 'ready' && state.state !== 'degraded') origins.disconnected(server)
    if (state.state !== 'connecting') {
      const summary =
        'reason' in state ? `${server} is ${state.state}: ${state.reason}` : `${server} is ${state.state}`
      try {
        recorder.note({ kind: 'connection', server, summary, detail: { ...state } }, state.state)
      } catch (error) {
        process.emitWarning(`An activity could not be written: ${reasonOf(error)}`)
      }
    }
    events.emit({ type: 'connection', server, state })
  }
}
