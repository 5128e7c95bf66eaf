import { Advertised, answersFor, Origins, relayed } from './asking/index.ts'
import { Broker } from './broker/index.ts'
import { createCatalog } from './catalog/index.ts'
import { createCode } from './code/index.ts'
import { ServerConnection } from './connections/index.ts'
import { createConversationDesk } from './conversations/index.ts'
import { examineServer } from './doctor/index.ts'
import { GatewayRoom } from './gateway/index.ts'
import { Events, Requests, Running } from './host/index.ts'
import { LiveInbox } from './inbox/index.ts'
import { Discretion, Launch, reconfigure } from './launch/index.ts'
import { createLibrary } from './library/index.ts'
import { LoginRoom } from './login/index.ts'
import { createTakeUp, Parking } from './parked/index.ts'
import { createPolicyRoom } from './policy/index.ts'
import { createResults } from './results/index.ts'
import { checkRoots, Roots } from './roots/index.ts'
import { createSampling, type Sampling } from './sampling/index.ts'
import { createScale } from './scale/index.ts'
import { createRecorder, openStore } from './store/index.ts'
import { reasonOf } from './text.ts'
import { createTrace, type Trace } from './trace/index.ts'
import { Trust } from './trust/index.ts'
import type { ConnectionState, Host, HostOptions, Reconfigured, ServerConfig } from './types/index.ts'

const defaults = {
  connectTimeoutMs: 8_000,
  callTimeoutMs: 60_000,
  idlePingMs: 60_000,
  info: { name: 'jackfield', version: '0.1.0', title: 'Jackfield' },
}
const closeWaitMs = 2_000

/**
 * Makes a host. Nothing is started before `start`. Throws a StoreError where the store cannot be opened, and an
 * McpError 'INVALID' where a root is not a plain local folder or a redaction pattern cannot be searched.
 */
export function createHost(options: HostOptions): Host {
  checkRoots(options.roots)
  return new LiveHost(options)
}

class LiveHost implements Host {
  readonly connections: ReadonlyMap<string, ConnectionState>
  readonly #servers = new Map<string, ServerConnection>()
  readonly #options: HostOptions
  readonly #discretion = new Discretion()
  readonly #launch: Launch
  readonly secrets: Host['secrets']
  readonly consents: Host['consents']
  readonly logins: LoginRoom
  readonly gateway: GatewayRoom = new GatewayRoom(this)
  readonly conversations: Host['conversations']
  readonly results: Host['results']
  readonly #catalog: ReturnType<typeof createCatalog>
  readonly #broker: Broker
  readonly trust: Trust
  readonly policy: Host['policy']
  readonly #rules: ReturnType<typeof createPolicyRoom>
  readonly sampling: Host['sampling']
  readonly #sampling: Sampling
  readonly roots: Host['roots']
  readonly #roots: Roots
  readonly #store: ReturnType<typeof openStore>
  readonly #recorder: ReturnType<typeof createRecorder>
  readonly inbox: LiveInbox
  readonly #parking: Parking
  readonly #advertised = new Map<string, Advertised>()
  readonly scale: Host['scale'] = createScale(() => this.tools())
  readonly code: Host['code']
  readonly #origins = new Origins()
  readonly #states = new Map<string, ConnectionState>()
  readonly #running = new Running()
  readonly #events = new Events(this.#discretion)
  readonly #requests: Requests
  #closing: Promise<void> | undefined
  readonly trace: Trace = createTrace(this, this.#origins, this.#discretion.redactor, () => this.#store.trace)
  readonly library: Host['library'] = createLibrary(this, (event) => this.#events.emit(event))

  constructor(options: HostOptions) {
    this.#store = openStore(options.store ?? ':memory:')
    this.#options = options
    this.#recorder = createRecorder(this.#discretion.log(this.#store.activity), {
      row: (row) => this.#events.emit({ type: 'activity', row }),
      failed: (error) => process.emitWarning(`An activity could not be written: ${reasonOf(error)}`),
    })
    this.connections = this.#states
    this.#parking = new Parking(this.#store)
    this.inbox = this.#inbox(options)
    if (options.surface !== undefined) this.inbox.attach(options.surface)
    this.#launch = new Launch({
      options,
      consents: this.#store.consents,
      asker: this.inbox,
      recorder: this.#recorder,
      redactor: this.#discretion.redactor,
      servers: () => [...this.#servers].map(([name, { config }]) => [name, config]),
    })
    this.secrets = this.#launch.secrets
    this.consents = this.#launch.consents
    this.results = createResults(this.#store.results)
    this.conversations = createConversationDesk({
      store: this.#store,
      redact: (v) => this.#discretion.value(v),
    })
    this.logins = new LoginRoom({
      store: options.credentials,
      open: options.openPage,
      asker: this.inbox,
      recorder: this.#recorder,
      redactor: this.#discretion.redactor,
      connection: (name) => this.#catalog.server(name),
      emit: (event) => this.#events.emit(event),
      signal: this.#running.signal,
    })
    const { models } = options
    this.#sampling = createSampling({
      asker: this.inbox,
      models,
      settings: options.sampling ?? {},
      recorder: this.#recorder,
      activity: this.#store.activity,
      table: this.#store.sampling,
      find: (server, asked) => this.#origins.find(server, asked),
      identityOf: (name) => this.#servers.get(name)?.identity,
      now: Date.now,
    })
    this.sampling = this.#sampling.desk
    this.#roots = new Roots({
      options,
      table: this.#store.roots,
      asker: this.inbox,
      recorder: this.#recorder,
      find: (server, asked) => this.#origins.find(server, asked, false),
      servers: () => this.#servers,
      emit: (event) => this.#events.emit(event),
      signal: this.#running.signal,
    })
    this.roots = this.#roots.desk
    for (const [name, config] of Object.entries(options.servers))
      this.#servers.set(name, this.#connection(name, config, options))
    this.trust = new Trust({
      table: this.#store.trust,
      servers: () => this.#servers,
      asker: this.inbox,
      recorder: this.#recorder,
      emit: (event) => this.#events.emit(event),
      signal: this.#running.signal,
    })
    this.#catalog = createCatalog(
      this.#servers,
      (server, message) => this.#events.emit({ type: 'warning', server, message }),
      (connection) => this.trust.gate(connection),
    )
    this.#rules = createPolicyRoom({
      rules: options.rules ?? [],
      defaultVerdict: options.defaultVerdict,
      workspace: options.workspace,
      store: this.#store,
      recorder: this.#recorder,
      find: (tool) => this.#catalog.tool(tool),
      refuseWhenClosed: () => this.#running.refuseWhenClosed(),
    })
    this.policy = this.#rules.desk
    this.#requests = new Requests({
      catalog: this.#catalog,
      trust: this.trust,
      policy: this.#rules.policy,
      origins: this.#origins,
      recorder: this.#recorder,
      discretion: this.#discretion,
      running: this.#running,
    })
    this.#broker = new Broker({
      catalog: this.#catalog,
      origins: this.#origins,
      recorder: this.#recorder,
      asker: this.inbox,
      parking: this.#parking,
      policy: this.#rules.policy,
      trust: (server) => this.trust.server(server),
      holdsSecret: (value) => this.#discretion.value(value) !== value,
      usable: (server, tool) => this.trust.usable(server, tool),
      visitFirst: async (server, ...failed) => this.#advertised.get(server)?.visitFirst(...failed) ?? false,
      callTimeoutMs: options.callTimeoutMs ?? defaults.callTimeoutMs,
      emit: (event) => this.#events.emit(event),
    })
    const code = createCode({
      tools: this.tools,
      call: this.call,
      on: (listener) => this.on(listener),
      recorder: this.#recorder,
      signal: this.#running.signal,
    })
    this.code = { ...code, run: (...given) => this.#running.track(() => code.run(...given)) }
  }

  attach: Host['attach'] = (surface) => {
    const detach = this.inbox.attach(surface)
    this.trust.askAgain()
    return detach
  }

  async start(): Promise<void> {
    this.#running.refuseWhenClosed()
    await Promise.all([...this.#servers.values()].map((server) => server.start()))
  }

  async reconnect(server: string): Promise<void> {
    this.#running.refuseWhenClosed()
    this.#launch.again()
    this.logins.again(server)
    await this.#catalog.server(server).reconnect()
  }

  async reconfigure(servers: Record<string, ServerConfig>): Promise<Reconfigured> {
    const done = await this.#running.track(() =>
      reconfigure(
        servers,
        this.#servers,
        (name, config) => this.#connection(name, config, this.#options),
        (name) => this.#states.delete(name),
      ),
    )
    this.#events.emit({ type: 'catalog' })
    return done
  }

  examine: Host['examine'] = (server, { onStep, signal } = {}) => {
    const { config } = this.#catalog.server(server)
    const until = this.#running.until(signal)
    return this.#running.track(() =>
      examineServer(server, config, {
        prepare: () => this.#launch.prepare(server, config, until),
        shown: (step) => this.#discretion.value(step),
        onStep,
        signal: until,
      }),
    )
  }

  tools: Host['tools'] = () => this.#catalog.tools()
  prompts: Host['prompts'] = () => this.#catalog.prompts()
  resources: Host['resources'] = () => this.#catalog.resources()
  templates: Host['templates'] = () => this.#catalog.templates()

  instructions(): ReturnType<Host['instructions']> {
    return [...this.#servers.values()].flatMap((connection) => {
      const text = this.trust.instructions(connection)
      return text === undefined ? [] : [{ server: connection.name, text }]
    })
  }

  call: Host['call'] = (name, args, { typed = false, signal, ...options }) =>
    this.#running
      .track(() => this.#broker.call(name, args, { ...options, typed, signal: this.#running.until(signal) }))
      .then((done) => this.#discretion.value(done))

  read: Host['read'] = (...given) => this.#requests.read(...given)
  prompt: Host['prompt'] = (...given) => this.#requests.prompt(...given)
  complete: Host['complete'] = (...given) => this.#requests.complete(...given)
  watch: Host['watch'] = (...given) => this.#requests.watch(...given)

  leave(conversation: string): void {
    this.library.detach(conversation)
    for (const server of this.#servers.values()) server.leave(conversation)
  }

  on(listener: Parameters<Host['on']>[0]): () => void {
    return this.#events.on(listener)
  }

  activity: Host['activity'] = (filter) => this.#store.activity.list(filter)

  verifyActivity: Host['verifyActivity'] = ({ head } = {}) => this.#store.activity.verify(head)

  pruneActivity(before: string): number {
    this.#running.refuseWhenClosed()
    return this.#store.activity.prune(before)
  }

  record: Host['record'] = ({ outcome, durationMs, ...start }) => {
    this.#running.refuseWhenClosed()
    return this.#recorder.note(start, outcome, durationMs)
  }

  close(): Promise<void> {
    this.#closing ??= this.#end()
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #end(): Promise<void> {
    this.inbox.close()
    this.#running.end()
    const closing = [...this.#servers.values()].map((server) => server.close())
    for (const { name, state } of this.#servers.values()) this.#states.set(name, state)
    await Promise.all(closing)
    await this.#running.settled(closeWaitMs)
    this.#store.close()
  }

  #inbox(options: HostOptions): LiveInbox {
    const takeUp = createTakeUp({
      store: this.#store,
      parking: this.#parking,
      connection: (name) => this.#servers.get(name),
      answers: (name) => this.#advertised.get(name)?.parked() ?? {},
      origins: this.#origins,
      recorder: this.#recorder,
      callTimeoutMs: options.callTimeoutMs ?? defaults.callTimeoutMs,
      emit: (event) => this.#events.emit(event),
      usable: (server, tool) => this.trust.usable(server, tool),
      passOn: (...passing) => this.#broker.passOn(...passing),
      signal: this.#running.signal,
    })
    return new LiveInbox({
      store: this.#store,
      told: (item) => this.#events.emit({ type: 'question', item }),
      facesChanged: () => {
        for (const [name, advertised] of this.#advertised) advertised.changed(this.#servers.get(name)?.client)
      },
      takeUp: { ...takeUp, run: (call) => this.#running.track(() => takeUp.run(call)) },
    })
  }

  #connection(name: string, config: ServerConfig, options: HostOptions): ServerConnection {
    const { revisions, onMessage } = options.connect ?? {}
    const warn = (message: string): void => this.#events.emit({ type: 'warning', server: name, message })
    const answers = answersFor(name, {
      asker: this.inbox,
      sampling: this.#sampling,
      roots: this.#roots,
      origins: this.#origins,
      recorder: this.#recorder,
      forms: { config, table: this.#store.forms, open: options.openPage },
      track: (work) => this.#running.track(work),
      signal: this.#running.signal,
    })
    const advertised = new Advertised(
      relayed(answers, name, { relays: this.gateway.relays, origins: this.#origins }),
      warn,
    )
    this.#advertised.set(name, advertised)
    const connection = new ServerConnection({
      name,
      config: this.#launch.keep(config),
      prepare: (given, signal) => this.#launch.prepare(name, given, signal),
      needsApproval: async () => (await this.consents.needed(name)) !== undefined,
      login: (given) => this.logins.of(name, given),
      onSignIn: (needed) => this.logins.needed(name, needed),
      agreedRoots: () => this.#roots.agreed(name),
      eras: this.#store.eras,
      manifests: this.#store.manifests,
      tap: this.trace.tap(name, options.connect),
      revisions,
      idlePingMs: options.connect?.idlePingMs ?? defaults.idlePingMs,
      shown: (state) => this.#discretion.value(state),
      connectTimeoutMs: config.connectTimeoutMs ?? options.connectTimeoutMs ?? defaults.connectTimeoutMs,
      lists: options.connect?.lists,
      follow: options.connect?.follow,
      client: {
        info: options.info ?? defaults.info,
        logLevel: 'info',
        timeoutMs: options.callTimeoutMs ?? defaults.callTimeoutMs,
        onElicitationComplete: (id) => answers.visited(id),
        ...(onMessage !== undefined && {
          onMessage: (direction, message) => onMessage(name, direction, this.#discretion.value(message)),
        }),
        onLog: ({ level, logger, data }) =>
          this.#events.emit({
            type: 'log',
            server: name,
            level,
            data,
            ...(logger !== undefined && { logger }),
          }),
      },
      answers: () => advertised.tell(),
      onState: (state) => this.#stateChanged(name, state),
      onLists: () => {
        this.trust.look(connection)
        this.#events.emit({ type: 'catalog' })
      },
      onResourceUpdated: (uri) => this.#events.emit({ type: 'resource-updated', server: name, uri }),
      onStderr: (text) => this.#events.emit({ type: 'stderr', server: name, text }),
      onWarning: warn,
    })
    this.#states.set(name, connection.state)
    return connection
  }

  #stateChanged(server: string, state: ConnectionState): void {
    this.#states.set(server, state)
    if (state.state !== 'connecting') {
      const summary =
        'reason' in state ? `${server} is ${state.state}: ${state.reason}` : `${server} is ${state.state}`
      try {
        this.#recorder.note({ kind: 'connection', server, summary, detail: { ...state } }, state.state)
      } catch (error) {
        process.emitWarning(`An activity could not be written: ${reasonOf(error)}`)
      }
    }
    this.#events.emit({ type: 'connection', server, state })
  }
}
