import type { ClientExtension } from '@jackfield/sdk/client'
import { appMimeType, uiExtension } from '@jackfield/sdk/extensions/ui'
import type { ActiveRequests } from '../core/active-requests.ts'
import type { QuestionQueue } from '../core/inbox/question-queue.ts'
import {
  AdvertisedCapabilities,
  createServerRequestHandlers,
  type ServerRequestHandlers,
  withRedaction,
  withRelays,
} from '../core/server-requests.ts'
import type { Tasks } from '../core/tasks.ts'
import type { Gateways } from '../gateway/gateway.ts'
import type { Recorder } from '../log/store/activity-log.ts'
import type { Store } from '../log/store/store.ts'
import type { Trace } from '../log/trace/trace.ts'
import type { Sampling } from '../models/sampling/sampling.ts'
import { ServerConnection } from '../servers/connections/connection.ts'
import { isUp } from '../servers/connections/states.ts'
import { downloadTimeoutMs, mayDownload } from '../servers/launch/command-scan.ts'
import type { Launch, Redaction } from '../servers/launch/launch.ts'
import type { Logins } from '../servers/login/logins.ts'
import type { Roots } from '../servers/roots/roots.ts'
import { reasonOf } from '../shared/text.ts'
import type { ConnectionState, HostOptions, ServerConfig } from '../types/index.ts'
import { defaults, type HostEvents, type RunningWork } from './running-work.ts'

/** Declares support for app pages. */
const apps: ClientExtension = { id: uiExtension, settings: { mimeTypes: [appMimeType] } }

interface ConnectionFactoryDeps {
  options: HostOptions
  taskExtension: Tasks['extension']
  /** The state of each server, updated here. */
  states: Map<string, ConnectionState>
  store: Pick<Store, 'forms' | 'eras' | 'manifests' | 'texts'>
  questions: QuestionQueue
  activeRequests: ActiveRequests
  recorder: Recorder
  redaction: Redaction
  events: HostEvents
  running: RunningWork
  launch: Launch
  logins: Logins
  sampling: Sampling
  roots: Roots
  gateway: Gateways
  trace: Trace
  /** Checks a server's definitions. */
  checkLists: (connection: ServerConnection) => void
}

/** The state of a server in the summary of an event. */
const phrases: Readonly<Record<ConnectionState['state'], string>> = {
  connecting: 'is connecting',
  ready: 'is ready',
  degraded: 'is degraded',
  reconnecting: 'is reconnecting',
  'needs-sign-in': 'requires a sign-in',
  'needs-approval': 'waits for your consent',
  asleep: 'is asleep',
  failed: 'failed',
  disabled: 'is disabled',
}

/** Creates the connections to the servers of a host, with the handlers for their requests. */
export class ConnectionFactory {
  readonly #deps: ConnectionFactoryDeps
  readonly #advertised = new Map<string, AdvertisedCapabilities>()

  constructor(deps: ConnectionFactoryDeps) {
    this.#deps = deps
  }

  /** The handlers for questions of a server's suspended calls. */
  forSuspendedCalls(server: string): ReturnType<ServerRequestHandlers['forSuspendedCalls']> {
    return this.#advertised.get(server)?.handlers.forSuspendedCalls() ?? {}
  }

  /** Asks for the URL elicitations that a failed request requires; true if the user completed them all. */
  async openRequiredUrls(
    server: string,
    ...failed: Parameters<ServerRequestHandlers['openRequiredUrls']>
  ): Promise<boolean> {
    return (await this.#advertised.get(server)?.handlers.openRequiredUrls(...failed)) ?? false
  }

  /** Updates the capabilities declared to servers. */
  surfacesChanged(servers: ReadonlyMap<string, ServerConnection>): void {
    for (const [name, advertised] of this.#advertised) advertised.changed(servers.get(name)?.client)
  }

  /** Creates the connection of one server, which is not started. */
  create(name: string, config: ServerConfig): ServerConnection {
    const { options, states, store, redaction, events, launch, logins, roots, trace, checkLists } = this.#deps
    const warn = (message: string): void => events.emit({ type: 'warning', server: name, message })
    const answers = this.#answers(name, config, warn)
    const handlers = withRelays(answers, name, {
      relays: this.#deps.gateway.relays,
      origins: this.#deps.activeRequests,
    })
    const advertised = new AdvertisedCapabilities(withRedaction(handlers, redaction.redactor), warn)
    this.#advertised.set(name, advertised)
    const connection = new ServerConnection({
      name,
      config: launch.registerSecrets(config),
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
      shown: (state) => redaction.value(state),
      connectTimeoutMs:
        config.connectTimeoutMs ??
        options.connectTimeoutMs ??
        (mayDownload(config) ? downloadTimeoutMs : defaults.connectTimeoutMs),
      lists: options.connect?.lists,
      follow: options.connect?.follow,
      client: this.#client(name, answers),
      answers: () => advertised.advertise(),
      onState: (state) => this.#stateChanged(name, state),
      onLists: () => {
        checkLists(connection)
        events.emit({ type: 'catalog' })
      },
      onResourceUpdated: (uri) => events.emit({ type: 'resource-updated', server: name, uri }),
      onStderr: (text) => events.emit({ type: 'stderr', server: name, text }),
      onWarning: warn,
    })
    states.set(name, connection.state)
    return connection
  }

  #answers(name: string, config: ServerConfig, warn: (message: string) => void): ServerRequestHandlers {
    const { options, store, questions, sampling, roots, activeRequests, recorder, launch, running } =
      this.#deps
    return createServerRequestHandlers(name, {
      questions,
      sampling,
      roots,
      activeRequests,
      recorder,
      forms: {
        config,
        identity: () => launch.identities.of(config),
        table: store.forms,
        open: options.openPage,
      },
      warn,
      track: (work) => running.track(work),
    })
  }

  #client(
    name: string,
    answers: ServerRequestHandlers,
  ): ConstructorParameters<typeof ServerConnection>[0]['client'] {
    const { options, redaction, events, questions, taskExtension } = this.#deps
    const { onMessage } = options.connect ?? {}
    return {
      info: options.info ?? defaults.info,
      logLevel: 'info',
      timeoutMs: options.callTimeoutMs ?? defaults.callTimeoutMs,
      // Read for each connection, since a session declares app support only once.
      get extensions() {
        return questions.canAsk('app') ? [taskExtension, apps] : [taskExtension]
      },
      onElicitationComplete: (id) => answers.urlElicitationComplete(id),
      ...(onMessage !== undefined && {
        onMessage: (direction, message) => onMessage(name, direction, redaction.value(message)),
      }),
      onLog: ({ level, logger, data }) =>
        events.emit({ type: 'log', server: name, level, data, ...(logger !== undefined && { logger }) }),
    }
  }

  #stateChanged(server: string, state: ConnectionState): void {
    const { states, recorder, events, activeRequests, logins } = this.#deps
    states.set(server, state)
    if (isUp(state)) logins.ready(server)
    // A request without a response ends with its connection, too.
    if (state.state !== 'ready' && state.state !== 'degraded') activeRequests.disconnected(server)
    if (state.state !== 'connecting') {
      const summary = `${server} ${withReason(phrases[state.state], state)}`
      try {
        recorder.note({ kind: 'connection', server, summary, detail: { ...state } }, state.state)
      } catch (error) {
        process.emitWarning(`An activity could not be written: ${reasonOf(error)}`)
      }
    }
    events.emit({ type: 'connection', server, state })
  }
}

/** A phrase with the reason of its state, or the reason alone if it says the same, such as where a sign-in is required. */
function withReason(phrase: string, state: ConnectionState): string {
  if (!('reason' in state)) return phrase
  const { reason } = state
  return reason.startsWith(`It ${phrase}`) ? reason.slice('It '.length) : `${phrase}: ${reason}`
}
