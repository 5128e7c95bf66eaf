import { defined } from '@jackfield/sdk/internal'
import { Apps } from './apps/apps.ts'
import { isAppType } from './apps/page.ts'
import { isVisibleTo } from './apps/tool-app.ts'
import { withoutStoredSecrets } from './config/secrets/without-secrets.ts'
import { ActiveRequests } from './core/active-requests.ts'
import { Broker } from './core/broker.ts'
import { createPromptValues } from './core/forms/remembered.ts'
import type { LiveInbox } from './core/inbox/inbox.ts'
import { serverOrigin, toolDefinition } from './core/policy/identity.ts'
import { hasReadOnlyHint, type ServerDefinitions } from './core/policy/policy.ts'
import { createLivePolicy } from './core/policy/policy-service.ts'
import { SuspendedCalls } from './core/suspended-calls.ts'
import { SuspendedSecrets } from './core/suspended-secrets.ts'
import { Tasks } from './core/tasks.ts'
import { Trust } from './core/trust/trust.ts'
import { Gateways } from './gateway/gateway.ts'
import { ConnectionFactory } from './host/connection-factory.ts'
import { createQuestions } from './host/questions.ts'
import { Requests } from './host/requests.ts'
import { defaults, HostEvents, RunningWork } from './host/running-work.ts'
import { createRecorder } from './log/store/activity-log.ts'
import { openStore } from './log/store/store.ts'
import { advice, faultOf } from './log/store/store-error.ts'
import { createTrace, type Trace } from './log/trace/trace.ts'
import { createCode } from './models/code/code.ts'
import { createConversationStore } from './models/conversation-store.ts'
import { createResults } from './models/results.ts'
import { Sampling } from './models/sampling/sampling.ts'
import { createToolSearch } from './models/tool-search/tool-index.ts'
import { createLibrary } from './resources/library.ts'
import { ResourceTexts } from './resources/texts.ts'
import { Catalog, createShownCatalog } from './servers/catalog.ts'
import type { ServerConnection } from './servers/connections/connection.ts'
import { diagnoseServer } from './servers/doctor/doctor.ts'
import { approveInstallation } from './servers/install/approval.ts'
import { Launch, Redaction, reconfigure } from './servers/launch/launch.ts'
import { Logins } from './servers/login/logins.ts'
import { authNetworkIn, fetchIn } from './servers/network/fetch.ts'
import { checkRoots } from './servers/roots/folders.ts'
import { Roots } from './servers/roots/roots.ts'
import { fingerprint } from './shared/fingerprint.ts'
import { reasonOf } from './shared/text.ts'
import type {
  ConnectionState,
  Host,
  HostOptions,
  QuestionKind,
  Reconfigured,
  ServerDetails,
} from './types/index.ts'

/** Milliseconds that closing waits for running work. */
const closeWaitMs = 2_000
/** Interval in milliseconds of checking whether another program wrote to the store. */
const storePollMs = 50

/**
 * Creates a host. No server is started before `start`.
 * @throws StoreError if the store cannot be opened
 * @throws McpError 'INVALID' if a root is not a local folder, or a redaction pattern cannot be searched in linear time
 */
export function createHost(options: HostOptions): Host {
  checkRoots(options.roots)
  return new LiveHost(options)
}

class LiveHost implements Host {
  readonly connections: ReadonlyMap<string, ConnectionState>
  readonly #servers = new Map<string, ServerConnection>()
  readonly #redaction = new Redaction()
  readonly #launch: Launch
  readonly #env: NonNullable<HostOptions['env']>
  readonly secrets: Host['secrets']
  readonly consents: Host['consents']
  readonly logins: Logins
  readonly gateway: Gateways = new Gateways(this)
  readonly conversations: Host['conversations']
  readonly results: Host['results']
  readonly #catalog: Catalog
  readonly #shownCatalog: ReturnType<typeof createShownCatalog>
  readonly #broker: Broker
  readonly trust: Trust
  readonly policy: Host['policy']
  readonly #rules: ReturnType<typeof createLivePolicy>
  readonly sampling: Host['sampling']
  readonly #sampling: Sampling
  readonly roots: Host['roots']
  readonly #roots: Roots
  readonly #store: ReturnType<typeof openStore>
  readonly #recorder: ReturnType<typeof createRecorder>
  readonly inbox: LiveInbox
  readonly tasks: Tasks
  readonly apps: Host['apps']
  readonly #suspendedCalls: SuspendedCalls
  readonly #suspendedSecrets: SuspendedSecrets
  readonly #connectionFactory: ConnectionFactory
  readonly toolSearch: Host['toolSearch'] = createToolSearch(() => this.tools())
  readonly code: Host['code']
  readonly promptValues: Host['promptValues']
  readonly #activeRequests = new ActiveRequests()
  readonly #states = new Map<string, ConnectionState>()
  readonly #running = new RunningWork()
  readonly #events = new HostEvents(this.#redaction)
  readonly #requests: Requests
  #closing: Promise<void> | undefined
  readonly trace: Trace
  readonly #texts: ResourceTexts
  readonly library: Host['library']

  constructor(options: HostOptions) {
    const { redactor } = this.#redaction
    const { env = process.env } = options
    this.#store = withoutStoredSecrets(openStore(options.store ?? ':memory:', options.log), redactor)
    this.trace = createTrace(
      this,
      this.#activeRequests,
      redactor,
      () => this.#store.trace,
      options.log,
      fetchIn(env),
    )
    this.#recorder = createRecorder(this.#redaction.log(this.#store.activity), {
      started: (id) => this.#events.emit({ type: 'activity-started', id }),
      row: (read) => {
        if (this.#events.hasListener('activity')) this.#events.emit({ type: 'activity', row: read() })
      },
      failed: (error) =>
        process.emitWarning(
          `The ends of activities cannot be recorded: ${reasonOf(error)}. ${advice[faultOf(error)]}`,
        ),
    })
    this.#texts = new ResourceTexts({
      table: this.#store.texts,
      redactor,
      servers: () => [...this.#servers].filter(([, { state }]) => state.state !== 'disabled'),
      usable: (connection) => {
        const isUsable = this.trust.usableResources(connection)
        return (uri) => isUsable(this.#shownCatalog.uriOf(connection.name, uri))
      },
    })
    this.library = createLibrary(this, (event) => this.#events.emit(event), this.#texts)
    this.#env = env
    this.connections = this.#states
    this.#suspendedSecrets = new SuspendedSecrets({
      redactor: this.#redaction.redactor,
      secret: (name) => this.#launch.secret(name),
      sealed: options.credentials,
      salt: this.#store.trace.salt,
      follow: (going) => this.#running.follow(going),
    })
    this.#suspendedCalls = new SuspendedCalls({ store: this.#store, secrets: this.#suspendedSecrets })
    this.inbox = createQuestions({
      store: this.#store,
      suspendedCalls: this.#suspendedCalls,
      suspendedSecrets: this.#suspendedSecrets,
      activeRequests: this.#activeRequests,
      recorder: this.#recorder,
      callTimeoutMs: options.callTimeoutMs,
      servers: this.#servers,
      connectionFactory: () => this.#connectionFactory,
      redaction: this.#redaction,
      events: this.#events,
      running: this.#running,
      disabledReason: (server, tool) => this.trust.disabledReason(server, tool),
      releaseResult: (...passing) => this.#broker.releaseResult(...passing),
      refusalToRepeat: (...repeating) => this.#broker.refusalToRepeat(...repeating),
    })
    this.#launch = new Launch({
      options,
      consents: this.#store.consents,
      settings: this.#store.forms,
      identities: this.#store.identities,
      salt: this.#store.trace.salt,
      questions: this.inbox,
      recorder: this.#recorder,
      redactor: this.#redaction.redactor,
      onWarning: (server, message, fixes) => this.#events.emit({ type: 'warning', server, message, fixes }),
      servers: () => [...this.#servers].map(([name, { config }]) => [name, config]),
      onSecret: (name) => this.#startServersWithout(name),
    })
    this.secrets = this.#launch.secrets
    this.consents = this.#launch.consents
    this.promptValues = createPromptValues({
      table: this.#store.forms,
      workspace: options.workspace,
      identityOf: (name) => this.#servers.get(name)?.identity,
      containsSecret: (value) => this.#redaction.value(value) !== value,
    })
    this.results = createResults(this.#store.results, (id) => this.#store.conversations.get(id)?.parent)
    this.conversations = createConversationStore({
      store: this.#store,
      redact: (v) => this.#redaction.value(v),
      added: (id, from, entries) => this.#events.emit({ type: 'conversation', id, from, entries }),
      removed: (id) => this.endConversation(id),
    })
    this.logins = new Logins({
      store: options.credentials,
      open: options.openPage,
      network: authNetworkIn(env),
      questions: this.inbox,
      recorder: this.#recorder,
      redactor: this.#redaction.redactor,
      connection: (name) => this.#catalog.server(name),
      emit: (event) => this.#events.emit(event),
      signal: this.#running.signal,
    })
    const { models } = options
    this.#sampling = new Sampling({
      questions: this.inbox,
      models,
      settings: options.sampling ?? {},
      recorder: this.#recorder,
      activity: this.#store.activity,
      table: this.#store.sampling,
      find: (server, asked) => this.#activeRequests.find(server, asked),
      identityOf: (name) => this.#servers.get(name)?.identity,
      emit: (event) => this.#events.emit(event),
      now: Date.now,
    })
    this.sampling = this.#sampling.service
    this.#roots = new Roots({
      options,
      table: this.#store.roots,
      questions: this.inbox,
      recorder: this.#recorder,
      find: (server, asked) => this.#activeRequests.find(server, asked, false),
      servers: () => this.#servers,
      emit: (event) => this.#events.emit(event),
      signal: this.#running.signal,
    })
    this.roots = this.#roots.service
    this.tasks = new Tasks({
      store: this.#store,
      activeRequests: this.#activeRequests,
      recorder: this.#recorder,
      callTimeoutMs: options.callTimeoutMs ?? defaults.callTimeoutMs,
      redact: (value) => this.#redaction.value(value),
      emit: (event) => this.#events.emit(event),
      connection: (name) => this.#servers.get(name),
      releaseResult: (...passing) => this.#broker.releaseResult(...passing),
      signal: this.#running.signal,
      follow: (work) => this.#running.follow(work),
    })
    this.#events.on(
      (event) => {
        if (event.type !== 'connection' || event.state.state !== 'ready') return
        const connection = this.#servers.get(event.server)
        if (connection !== undefined) this.tasks.continueAt(connection)
      },
      ['connection'],
    )
    this.#connectionFactory = new ConnectionFactory({
      taskExtension: this.tasks.extension,
      options,
      states: this.#states,
      store: this.#store,
      questions: this.inbox,
      activeRequests: this.#activeRequests,
      recorder: this.#recorder,
      redaction: this.#redaction,
      events: this.#events,
      running: this.#running,
      launch: this.#launch,
      logins: this.logins,
      sampling: this.#sampling,
      roots: this.#roots,
      gateway: this.gateway,
      trace: this.trace,
      checkLists: (connection) => this.trust.check(connection),
    })
    if (options.surface !== undefined) this.inbox.attach(options.surface)
    for (const [name, config] of Object.entries(options.servers))
      this.#servers.set(name, this.#connectionFactory.create(name, config))
    this.trust = new Trust({
      table: this.#store.trust,
      servers: () => this.#servers,
      unpinned: options.unpinned ?? [],
      questions: this.inbox,
      recorder: this.#recorder,
      redactor: this.#redaction.redactor,
      emit: (event) => this.#events.emit(event),
      signal: this.#running.signal,
    })
    this.#catalog = new Catalog(
      this.#servers,
      (server, message) => this.#events.emit({ type: 'warning', server, message }),
      (connection) => this.trust.gate(connection),
    )
    this.#shownCatalog = createShownCatalog(() => this.#catalog, this.#redaction.redactor)
    this.#rules = createLivePolicy({
      rules: options.rules ?? [],
      defaultVerdict: options.defaultVerdict,
      workspace: options.workspace,
      store: this.#store,
      recorder: this.#recorder,
      definitions: (server) => this.#definitionsOf(server),
      find: (tool) => this.#catalog.tool(this.#shownCatalog.nameOf(tool)),
      refuseWhenClosed: () => this.#running.refuseWhenClosed(),
    })
    this.policy = this.#rules.service
    this.#requests = new Requests({
      catalog: this.#catalog,
      shown: this.#shownCatalog,
      trust: this.trust,
      policy: this.#rules.policy,
      activeRequests: this.#activeRequests,
      recorder: this.#recorder,
      redaction: this.#redaction,
      running: this.#running,
      texts: this.#texts,
    })
    this.#broker = new Broker({
      tasks: this.tasks,
      catalog: this.#catalog,
      activeRequests: this.#activeRequests,
      recorder: this.#recorder,
      questions: this.inbox,
      suspendedCalls: this.#suspendedCalls,
      policy: this.#rules.policy,
      trust: (server) => this.trust.server(server),
      containsSecret: (value) => this.#redaction.value(value) !== value,
      disabledReason: (server, tool) => this.trust.disabledReason(server, tool),
      openRequiredUrls: (server, ...failed) => this.#connectionFactory.openRequiredUrls(server, ...failed),
      callTimeoutMs: options.callTimeoutMs ?? defaults.callTimeoutMs,
      emit: (event) => this.#events.emit(event),
    })
    this.apps = new Apps({
      table: this.#store.apps,
      catalog: this.#catalog,
      nameOf: (shown) => this.#shownCatalog.nameOf(shown),
      disabledReason: (server, tool) => this.trust.disabledReason(server, tool),
      questions: this.inbox,
      recorder: this.#recorder,
      call: this.call,
      read: this.read,
      resources: this.resources,
      templates: this.templates,
      track: (work) => this.#running.track(work),
      signal: this.#running.signal,
    })
    const code = createCode({
      tools: this.tools,
      call: this.call,
      on: this.on,
      recorder: this.#recorder,
      signal: this.#running.signal,
    })
    this.code = { ...code, run: (...given) => this.#running.track(() => code.run(...given)) }
  }

  attach: Host['attach'] = (surface) => {
    const detach = this.inbox.attach(surface)
    this.trust.askAgain()
    if (surface.show.roots !== undefined) this.#roots.askAgain()
    return detach
  }

  askAgain(kinds: readonly QuestionKind[]): void {
    if (kinds.includes('drift')) this.trust.askAgain()
    if (kinds.includes('roots')) this.#roots.askAgain()
  }

  origin(server: string): string {
    return serverOrigin(this.#catalog.server(server).config)
  }

  details(server: string): ServerDetails | undefined {
    const { client, pid } = this.#catalog.server(server)
    if (client === undefined) return undefined
    const { info, revision, era, capabilities, instructions } = client.server
    return this.#redaction.value({ revision, era, capabilities, ...defined({ info, instructions, pid }) })
  }

  ping: Host['ping'] = (...given) => this.#requests.ping(...given)
  setLogLevel: Host['setLogLevel'] = (...given) => this.#requests.setLogLevel(...given)

  labels(server: string): readonly string[] {
    return this.#catalog.server(server).config.labels ?? []
  }

  async start(names?: readonly string[]): Promise<void> {
    this.#running.refuseWhenClosed()
    const servers = names?.map((name) => this.#catalog.server(name)) ?? [...this.#servers.values()]
    await this.#launch.learnSecrets()
    await Promise.all(servers.map((server) => server.start()))
  }

  /** Starts the servers that failed because this secret was missing. Consent is asked for as at any other start. */
  #startServersWithout(secret: string): void {
    for (const [name, { state }] of this.#servers) {
      if (state.state !== 'failed') continue
      if (!state.fixes.some((fix) => fix.action === 'set-secret' && fix.name === secret)) continue
      // The outcome is the new state of the server.
      this.reconnect(name).catch(() => {})
    }
  }

  async reconnect(server: string): Promise<void> {
    this.#running.refuseWhenClosed()
    this.#launch.askAgain()
    this.logins.askAgain(server)
    await this.#catalog.server(server).reconnect()
  }

  async reconfigure(...[servers, policy]: Parameters<Host['reconfigure']>): Promise<Reconfigured> {
    this.#running.refuseWhenClosed()
    const next = policy && { rules: policy.rules ?? [], defaultVerdict: policy.defaultVerdict }
    if (next !== undefined && this.#rules.reload(next)) this.#events.emit({ type: 'policy' })
    const done = await this.#running.track(() =>
      reconfigure(
        servers,
        this.#servers,
        (name, config) => this.#connectionFactory.create(name, config),
        (name) => this.#states.delete(name),
      ),
    )
    this.#events.emit({ type: 'catalog' })
    return done
  }

  diagnose: Host['diagnose'] = (server, { onStep, signal } = {}) => {
    const { config } = this.#catalog.server(server)
    return this.#running.track(
      (until) =>
        diagnoseServer(server, config, {
          prepare: async () => {
            await this.#launch.learnSecrets()
            return this.#launch.prepare(server, config, until)
          },
          shown: (step) => this.#redaction.value(step),
          onStep,
          login: (given) => this.logins.of(server, given),
          env: this.#env,
          signal: until,
        }),
      signal,
    )
  }

  tools: Host['tools'] = () => this.#shownCatalog.tools().filter(({ tool }) => isVisibleTo('model', tool))
  prompts: Host['prompts'] = () => this.#shownCatalog.prompts()
  resources: Host['resources'] = () =>
    this.#shownCatalog
      .resources()
      .filter(({ resource }) => !(resource.uri.startsWith('ui://') && isAppType(resource.mimeType)))
  templates: Host['templates'] = () => this.#shownCatalog.templates()

  instructions(): ReturnType<Host['instructions']> {
    return [...this.#servers.values()].flatMap((connection) => {
      const text = this.trust.instructions(connection)
      return text === undefined ? [] : [{ server: connection.name, text }]
    })
  }

  call: Host['call'] = (name, args, { typed = false, signal, ...options }) =>
    this.#running
      .track(
        (until) =>
          this.#broker.call(this.#shownCatalog.nameOf(name), args, { ...options, typed, signal: until }),
        signal,
      )
      .then(
        (unredacted) => {
          const done = this.#redaction.value(unredacted)
          this.tasks.settled(done)
          return done
        },
        (error: unknown) => {
          throw this.#redaction.error(error)
        },
      )

  read: Host['read'] = (...given) => this.#requests.read(...given)
  prompt: Host['prompt'] = (...given) => this.#requests.prompt(...given)
  complete: Host['complete'] = (...given) => this.#requests.complete(...given)
  watch: Host['watch'] = (...given) => this.#requests.watch(...given)

  endConversation(conversation: string): void {
    this.library.detach(conversation)
    this.#rules.endConversation(conversation)
    this.#sampling.endConversation(conversation)
    for (const server of this.#servers.values()) server.endConversation(conversation)
  }

  #definitionsOf(server: string): ServerDefinitions | undefined {
    const connection = this.#servers.get(server)
    if (connection === undefined) return undefined
    const { identity, items } = this.trust.states(connection)
    if (items.length === 0 || items.some(({ state }) => state === 'quarantined')) return undefined
    const pinned = items.filter(({ what, state }) => what === 'tool' && state === 'pinned')
    const tools = this.#catalog.tools().filter((entry) => entry.server === server)
    return {
      fingerprint: fingerprint([
        identity,
        items.map(({ what, name, state, since }) => [what, name, state, since]),
        tools.map(({ tool }) => toolDefinition(tool)),
      ]),
      readOnlyTools: tools.flatMap(({ tool }) =>
        hasReadOnlyHint(tool) && pinned.some(({ name }) => name === tool.name) ? [tool.name] : [],
      ),
    }
  }

  on: Host['on'] = (...given) => this.#events.on(...given)

  onStored(listener: () => void): () => void {
    let seen = this.#store.inbox.version()
    const timer = setInterval(() => {
      const version = this.#store.inbox.version()
      if (version === seen) return
      seen = version
      listener()
    }, storePollMs)
    const { signal } = this.#running
    const stop = (): void => {
      clearInterval(timer)
      signal.removeEventListener('abort', stop)
    }
    // The store is closed after the host.
    signal.addEventListener('abort', stop)
    return stop
  }

  activity: Host['activity'] = (filter) => this.#store.activity.list(filter)

  verifyActivity: Host['verifyActivity'] = ({ head } = {}) => this.#store.activity.verify(head)

  pruneActivity(before: string): number {
    this.#running.refuseWhenClosed()
    const rows = this.#store.activity.prune(before)
    this.#store.texts.prune(new Date(before).toISOString())
    return rows
  }

  approveInstallation: Host['approveInstallation'] = (installation, { by, signal } = {}) => {
    const deps = { questions: this.inbox, recorder: this.#recorder, agreedOn: by }
    return this.#running.track(
      (until) => approveInstallation(installation, { ...deps, signal: until }),
      signal,
    )
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
    this.#suspendedCalls.removeEnded()
    this.inbox.close()
    this.#running.end()
    const closing = [...this.#servers.values()].map((server) => server.close())
    for (const { name, state } of this.#servers.values()) this.#states.set(name, state)
    await Promise.all(closing)
    await this.#running.settled(closeWaitMs)
    await this.trace.close()
    try {
      this.#store.close()
    } catch (error) {
      process.emitWarning(`The last activities could not be stored: ${reasonOf(error)}`)
    }
  }
}
