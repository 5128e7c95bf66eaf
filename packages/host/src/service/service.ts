import { McpError } from '@jackfield/sdk'
import { defined } from '@jackfield/sdk/internal'
import type { LayeredConfig, LayerOptions } from '../config/layers.ts'
import { createHost } from '../host.ts'
import { modelProviders } from '../models/environment.ts'
import { blocksOf } from '../models/messages.ts'
import type { RegistryOptions } from '../servers/install/registry.ts'
import { fingerprint } from '../shared/fingerprint.ts'
import { orAborted } from '../shared/signals.ts'
import type {
  Activity,
  ConnectionState,
  Host,
  HostAnswers,
  HostEvent,
  HostOptions,
  InboxItem,
  Model,
  ModelProvider,
  ModelTest,
  QuestionKind,
  Reconfigured,
} from '../types/index.ts'
import { ConfigurationService } from './configuration.ts'
import type {
  ConversationRow,
  HostStatus,
  InboxRow,
  ModelRow,
  RunRequest,
  ServerRow,
  Topics,
} from './contract.ts'
import { ConversationService } from './conversations.ts'
import { Downloads } from './downloads.ts'
import { InstallService } from './installs.ts'
import { isNotice, Notices, noticeTypes } from './notices.ts'
import { type RunOptions, Runs } from './runs.ts'
import { Surfaces } from './surfaces.ts'
import { Topic, type TopicSource } from './topic.ts'
import type { Change } from './view.ts'

/** Settled questions that stay in the topic `inbox`. */
const maxStoredSettled = 50
/** Maximum rows of the topic `activity`. */
const maxStoredActivities = 200
/** Maximum tokens of a test reply: reasoning models need more than the one word. */
const maxTestTokens = 1_024
const testTimeoutMs = 60_000
/** Maximum questions whose activities are remembered. */
const maxStoredQuestions = 2_000

/** Options of a host service: those of the host, and the process information for clients. */
export interface HostServiceOptions extends HostOptions {
  /** Finds a model that is not among `models`, by its id. */
  findModel?: (id: string) => Model | undefined
  /** The version of the program, for clients. */
  version: string
  /** Identifies builds of the same version; a client of another build can restart the host. Default the version. */
  build?: string
  /** Called when a client requests the end of the host. Default: the host is closed. */
  onStop?: (now: boolean) => void
  /** The configuration source, for the methods of `config`, `registry` and `installs`, and for `host.sync`. */
  configuration?: {
    layers: LayerOptions
    /** The configuration that the host is created with. */
    config?: LayeredConfig | undefined
    /** Reads the configuration. Default `loadLayers` of `layers`. */
    read?: () => Promise<LayeredConfig>
    /** Applies file changes as they happen. Default true. */
    follow?: boolean
    /** The models for a changed configuration. Default: they stay. */
    modelsOf?: (config: LayeredConfig) => Promise<readonly Model[]>
    registry?: RegistryOptions
    /** The folder of unpacked bundles. Without it, bundles cannot be installed. */
    bundles?: string
  }
  /** Names and digests of the variables that the host depends on, for `HostStatus.environment`. */
  environment?: () => Readonly<Record<string, string>>
}

/** A host with its shared state: runs, open conversations, topics. One for each process that runs servers. */
export class HostService {
  /** The host that the service shares. */
  readonly host: Host
  /** Work that continues without the client that started it. */
  readonly runs: Runs
  /** Open conversations. */
  readonly conversations: ConversationService
  /** The clients that can show questions. */
  readonly surfaces: Surfaces
  /** Prepared downloads, by ticket. */
  readonly downloads: Downloads = new Downloads()
  /** Names of connected clients, set by the peer server. */
  clients: () => readonly string[] = () => []
  /** The version of the program. */
  readonly version: string
  /** Identifies builds of the same version. */
  readonly build: string
  readonly #options: HostServiceOptions
  readonly #models: Model[]
  readonly #configuration: ConfigurationService | undefined
  readonly #installs: InstallService | undefined
  readonly #since = new Date().toISOString()
  readonly #topics = new Map<string, Topic>()
  readonly #sources: { readonly [T in keyof Topics]: TopicSource<Topics[T]> }
  /** Activity rows of questions, from their events. */
  readonly #questionRows = new Map<string, readonly number[]>()
  readonly #deferred = new Set<string>()
  /** Runs whose questions fail if no surface of their own client can show them, by activity row. */
  readonly #failingRuns = new Set<number>()
  readonly #notices = new Notices()
  readonly #conversationListeners = new Set<() => void>()
  readonly #cleanups: (() => void)[] = []
  #catalogVersion = 0
  /** Starts of servers that are not finished, by name. */
  readonly #starting = new Map<string, Promise<void>>()
  readonly #started = new Set<string>()
  /** Servers that need consent while no surface could be asked. */
  readonly #unapproved = new Set<string>()

  constructor(options: HostServiceOptions) {
    const {
      findModel,
      version,
      build = version,
      onStop: _onStop,
      configuration,
      environment: _env,
      ...hostOptions
    } = options
    this.#options = options
    this.version = version
    this.build = build
    this.surfaces = new Surfaces(
      (question) => (this.#questionRows.get(question) ?? []).some((row) => this.#failingRuns.has(row)),
      (question) => {
        const rows = this.#questionRows.get(question) ?? []
        return this.host.tasks.list().some((task) => task.continued === true && rows.includes(task.activity))
      },
    )
    this.#cleanups.push(this.surfaces.onChange(() => this.#askForApproval()))
    this.#models = [...options.models]
    this.host = createHost({ surface: this.surfaces.surface, ...hostOptions, models: this.#models })
    this.runs = new Runs(this.host)
    this.conversations = new ConversationService({
      host: this.host,
      models: () => this.#models,
      contextTokens: (model) =>
        options.sampling?.models?.find(({ id }) => id === model.id)?.contextTokens ?? model.contextTokens,
      ...(findModel !== undefined && { findModel }),
    })
    if (configuration !== undefined) {
      const { layers, config, read, follow = true, registry, bundles } = configuration
      this.#configuration = new ConfigurationService({
        ...{ host: this.host, layers, config, read },
        onChange: (next, done, isPolicyChanged) => this.#reconfigured(next, done, isPolicyChanged),
        onProblem: (problem) => this.#notices.add({ type: 'configuration', problem }),
      })
      const { home } = layers
      const deps = { host: this.host, configuration: this.#configuration, home }
      this.#installs = new InstallService({ ...deps, registry, bundles })
      if (follow) this.#cleanups.push(this.#configuration.follow())
    }
    this.#cleanups.push(this.host.on((event) => this.#onEvent(event), [...noticeTypes, ...trackedTypes]))
    this.#sources = this.#createSources()
  }

  /**
   * Starts servers, all of them or those named; resolves when each is ready or failed. One that failed is started again, but if it
   * did not respond in time, only if it is named. One that was not started for lack of consent is started again if it is named,
   * or if the user consented since, also in another process.
   */
  async start(names?: readonly string[], signal?: AbortSignal): Promise<void> {
    const requestedServers = names ?? [...this.host.connections.keys()]
    for (const name of requestedServers) {
      const isUnapproved = this.#needsApproval(name)
      const isNamed = names !== undefined
      if (isUnapproved && !isNamed && (await this.host.consents.needed(name)) !== undefined) continue
      const mayRestart = isUnapproved || this.#mayRecover(name, isNamed)
      if (this.#starting.has(name) || (this.#started.has(name) && !mayRestart)) continue
      const start = isUnapproved ? this.host.reconnect(name) : this.host.start([name])
      this.#starting.set(name, start)
      start
        .then(() => this.#started.add(name))
        .catch(() => {})
        .then(() => this.#starting.delete(name))
    }
    const canAsk = this.#canAskForApproval
    await orAborted(Promise.all(requestedServers.map((name) => this.#starting.get(name))), signal)
    if (canAsk) return
    for (const name of requestedServers) if (this.#needsApproval(name)) this.#unapproved.add(name)
    this.#askForApproval()
  }

  get #canAskForApproval(): boolean {
    return this.surfaces.attached.some(({ kinds }) => kinds.includes('start'))
  }

  /** Whether a failed server is worth another start. */
  #mayRecover(name: string, isNamed: boolean): boolean {
    const state = this.host.connections.get(name)
    return state?.state === 'failed' && (isNamed || state.error?.code !== 'TIMEOUT')
  }

  #needsApproval(name: string): boolean {
    return this.host.connections.get(name)?.state === 'needs-approval'
  }

  /** Asks about the servers that were started while no surface could show the question. */
  #askForApproval(): void {
    if (!this.#canAskForApproval) return
    const names = [...this.#unapproved].filter((name) => this.#needsApproval(name))
    this.#unapproved.clear()
    if (names.length > 0) this.start(names).catch(() => {})
  }

  /** Every configured server, as in the topic `servers`. */
  servers(): ServerRow[] {
    return [...this.#sources.servers.rows()].map(([, row]) => row)
  }

  /** Reloads the configuration if it changed. */
  async sync(): Promise<void> {
    await this.#configuration?.sync()
  }

  /** @throws McpError 'INVALID' if the host was created without files */
  get configuration(): ConfigurationService {
    if (this.#configuration !== undefined) return this.#configuration
    throw new McpError('INVALID', 'This host has no configuration files.')
  }

  /** @throws McpError 'INVALID' if the host was created without files */
  get installs(): InstallService {
    if (this.#installs !== undefined) return this.#installs
    throw new McpError('INVALID', 'This host has no configuration files, so nothing can be installed.')
  }

  async #reconfigured(config: LayeredConfig, done: Reconfigured, isPolicyChanged: boolean): Promise<void> {
    for (const name of this.#started) if (!this.host.connections.has(name)) this.#started.delete(name)
    const models = await this.#options.configuration?.modelsOf?.(config).catch(() => undefined)
    // Mutated in place, because the host and conversations hold this list.
    if (models !== undefined) this.#models.splice(0, this.#models.length, ...models)
    const rules = isPolicyChanged ? { rules: config.rules.length } : {}
    this.#notices.add({ type: 'configuration', done, ...rules })
  }

  /** Whether ending the process now would interrupt work. */
  get busy(): boolean {
    return this.runs.busy || this.conversations.busy
  }

  /** As the method `host.status`. */
  status(): HostStatus {
    return {
      version: this.version,
      build: this.build,
      pid: process.pid,
      since: this.#since,
      workspace: this.#options.workspace ?? null,
      environment: this.#options.environment?.() ?? {},
      store: this.#options.store ?? ':memory:',
      clients: this.clients(),
      servers: this.host.connections.size,
      openQuestions: this.host.inbox.list().length,
      runs: [...this.runs.topic.rows()].filter(([, { state }]) => state === 'running').length,
    }
  }

  /** As the method `host.stop`. */
  requestStop(now: boolean): null {
    if (this.#options.onStop !== undefined) this.#options.onStop(now)
    else setImmediate(() => this.close())
    return null
  }

  /** As the method `models.list`. */
  listModels(): ModelRow[] {
    return this.#models.map(({ id, isLanguageModel, contextTokens }) => {
      const facts = this.#options.sampling?.models?.find((one) => one.id === id)
      return {
        id,
        isLanguageModel,
        contextTokens: facts?.contextTokens ?? contextTokens ?? null,
        ...defined({ cost: facts?.cost, currency: facts?.currency }),
      }
    })
  }

  /** As the method `models.providers`. */
  modelProviders(): { providers: ModelProvider[]; chosen: string | null } {
    const env = this.#options.env ?? process.env
    return { providers: modelProviders(env), chosen: env['JACKFIELD_MODEL'] ?? null }
  }

  /** As the method `models.test`. @throws McpError 'NOT_FOUND' for an unknown model */
  async testModel(id: string, signal: AbortSignal): Promise<ModelTest> {
    const model = this.#models.find((one) => one.id === id) ?? this.#options.findModel?.(id)
    if (model === undefined) throw new McpError('NOT_FOUND', `There is no model "${id}".`)
    const startedAt = performance.now()
    const reply = await model.generate({
      messages: [{ role: 'user', content: { type: 'text', text: 'Answer with the one word: ready' } }],
      maxTokens: maxTestTokens,
      signal: AbortSignal.any([signal, AbortSignal.timeout(testTimeoutMs)]),
    })
    const text = blocksOf(reply.content)
      .map((block) => (block.type === 'text' ? block.text : ''))
      .join('')
    const durationMs = Math.round(performance.now() - startedAt)
    return { text, model: reply.model, durationMs, ...(reply.usage !== undefined && { usage: reply.usage }) }
  }

  /** As the method `secrets.list`. */
  async listSecrets(): Promise<{ kind: string; secrets: { name: string; usedBy: string[] }[] }> {
    const { secrets } = this.host
    const servers = this.#configuration === undefined ? [] : (await this.#configuration.view()).servers
    const uses = servers.map(({ name, file, fields }) => ({
      name,
      file,
      texts: fields.map(({ value }) => value),
    }))
    const names = await secrets.names()
    return {
      kind: secrets.kind,
      secrets: names.map((name) => {
        const [, input, file] = /^input (.*) of (.*)$/.exec(name) ?? []
        const usedBy = uses.filter((one) =>
          input === undefined
            ? one.texts.some((text) => text.includes(`\${secret:${name}}`))
            : one.file === file && one.texts.some((text) => text.includes(`\${input:${input}}`)),
        )
        return { name, usedBy: usedBy.map((one) => one.name) }
      }),
    }
  }

  /** `asks`: whether questions of the run wait for a surface of any client. */
  startRun(request: RunRequest, { asks, ...options }: RunOptions & { asks: boolean }): string {
    let row: number | undefined
    return this.runs.start(request, {
      ...options,
      onActivity: (activity) => {
        row = activity
        if (!asks) this.#failingRuns.add(activity)
      },
      onEnd: () => {
        if (row !== undefined) this.#failingRuns.delete(row)
      },
    })
  }

  /** Questions of the inbox, with what the topic `inbox` adds to them. */
  questions(filter?: Parameters<Host['inbox']['list']>[0]): InboxRow[] {
    return this.host.inbox.list(filter).map((item) => this.#inboxRow(item))
  }

  /** One question of the inbox; undefined if there is none with this id. */
  question(id: string): InboxRow | undefined {
    const item = this.host.inbox.get(id)
    return item && this.#inboxRow(item)
  }

  /**
   * @throws McpError 'NOT_FOUND' if there is no such question, 'INVALID' if the answer is invalid, 'CONFLICT' if it is not open or `seen`
   * is not the digest of the question's current form
   */
  answer(id: string, answer: HostAnswers[QuestionKind], by: string, seen: string | undefined): void {
    const { inbox } = this.host
    if (seen !== undefined) {
      const item = inbox.get(id)
      if (item !== undefined && fingerprint(item.question) !== seen)
        throw new McpError('CONFLICT', 'The question changed since it was shown. Read it again.')
    }
    inbox.answer(id, answer, by)
  }

  /** The topic with this name. @throws McpError 'NOT_FOUND' if there is none */
  topic(name: string): Topic {
    const known = this.#topics.get(name)
    if (known !== undefined) return known
    const topic = new Topic(this.#sourceOf(name))
    this.#topics.set(name, topic)
    return topic
  }

  #sourceOf(name: string): TopicSource<unknown> {
    const sources: Readonly<Record<string, TopicSource<unknown>>> = this.#sources
    const source = Object.hasOwn(sources, name) ? sources[name] : undefined
    if (source !== undefined) return source
    const [, id] = /^conversation:(.+)$/.exec(name) ?? []
    if (id === undefined) throw new McpError('NOT_FOUND', `There is no topic "${name}".`)
    // Without a subscriber, the topic of an unknown conversation would never be removed.
    this.conversations.get(id)
    const conversation: TopicSource<ConversationRow> = {
      rows: () => this.conversations.get(id).topic.rows(),
      follow: (sink) => {
        const cleanup = this.conversations.get(id).topic.follow(sink)
        const offStored = this.host.onStored(() => this.conversations.get(id).refresh())
        return combineUnsubscribe(() => this.#topics.delete(name), offStored, cleanup)
      },
    }
    return conversation
  }

  async close(): Promise<void> {
    for (const cleanup of this.#cleanups.splice(0)) cleanup()
    this.conversations.close()
    for (const topic of this.#topics.values()) topic.close()
    await this.host.close()
  }

  #createSources(): { readonly [T in keyof Topics]: TopicSource<Topics[T]> } {
    const { host } = this
    return {
      servers: this.#refreshedSource(
        () =>
          [...host.connections].map(
            ([name, connection]) => [name, this.#serverRow(name, connection)] as const,
          ),
        ['connection', 'catalog', 'trust'],
      ),
      inbox: this.#inboxSource(),
      runs: this.runs.topic,
      tasks: this.#refreshedSource(
        () => host.tasks.list().map((task) => [task.id, task] as const),
        ['task'],
        true,
      ),
      conversations: this.#conversationsSource(),
      surfaces: {
        rows: () => this.surfaces.attached.map((row) => [row.id, row] as const),
        follow: ({ refresh }) => this.surfaces.onChange(refresh),
      },
      activity: this.#activitySource(),
      notices: this.#notices.topic,
      configuration: {
        rows: () => [['version', { version: this.#configuration?.version ?? 0 }]],
        follow: ({ refresh }) => this.#configuration?.onChange(refresh) ?? (() => {}),
      },
      catalog: this.#refreshedSource(
        () => [['version', { version: this.#catalogVersion }]],
        ['catalog', 'trust'],
      ),
    }
  }

  /** A topic whose rows are reloaded after events of these types and, with `stored`, after other programs wrote. */
  #refreshedSource<Row>(
    rows: () => Iterable<readonly [string, Row]>,
    types: readonly HostEvent['type'][],
    stored = false,
  ): TopicSource<Row> {
    return {
      rows,
      follow: ({ refresh }) =>
        combineUnsubscribe(this.host.on(refresh, types), ...(stored ? [this.host.onStored(refresh)] : [])),
    }
  }

  /** Conversations were changed, copied or removed, here or in another program. */
  #conversationsSource(): TopicSource<Topics['conversations']> {
    const { host } = this
    const source = this.#refreshedSource(
      () => host.conversations.list({ limit: 200 }).map((facts) => [facts.id, facts] as const),
      ['conversation'],
      true,
    )
    return {
      ...source,
      follow: (sink) => {
        this.#conversationListeners.add(sink.refresh)
        return combineUnsubscribe(source.follow(sink), () => this.#conversationListeners.delete(sink.refresh))
      },
    }
  }

  /** To be called after a conversation was copied or removed. */
  conversationsChanged(): void {
    for (const refresh of this.#conversationListeners) refresh()
  }

  /** The newest rows, each pushed as it begins and ends. */
  #activitySource(): TopicSource<Activity> {
    let newest = 0
    const rows = (): [string, Activity][] => {
      const list = this.host.activity({ limit: maxStoredActivities })
      newest = list.at(-1)?.id ?? 0
      return list.map((row) => [String(row.id), row])
    }
    return {
      rows,
      follow: ({ push, refresh }) => {
        const unsubscribe = this.host.on(
          (event) => {
            const row =
              event.type === 'activity'
                ? event.row
                : event.type === 'activity-started'
                  ? this.host.activity({ id: event.id })[0]
                  : undefined
            if (row === undefined || row.id <= newest - maxStoredActivities) return
            const changes: Change<Activity>[] = [{ set: String(row.id), row }]
            for (let id = newest; id < row.id; id++)
              changes.push({ remove: String(id + 1 - maxStoredActivities) })
            newest = Math.max(newest, row.id)
            push(changes)
          },
          ['activity', 'activity-started'],
        )
        return combineUnsubscribe(unsubscribe, this.host.onStored(refresh))
      },
    }
  }

  #onEvent(event: HostEvent): void {
    if (event.type === 'question' || event.type === 'later') {
      this.#questionRows.set(event.item.id, event.rows)
      const [oldest] = this.#questionRows.keys()
      if (this.#questionRows.size > maxStoredQuestions && oldest !== undefined)
        this.#questionRows.delete(oldest)
      if (event.type === 'later') this.#deferred.add(event.item.id)
      else if (event.item.state !== 'open') this.#deferred.delete(event.item.id)
    } else if (event.type === 'catalog' || event.type === 'trust') this.#catalogVersion += 1
    if (isNotice(event)) this.#notices.add(event)
  }

  #serverRow(name: string, connection: ConnectionState): ServerRow {
    const { host } = this
    const countOf = (list: readonly { server: string }[]): number =>
      list.filter(({ server }) => server === name).length
    return {
      name,
      connection,
      tools: countOf(host.tools()),
      prompts: countOf(host.prompts()),
      resources: countOf(host.resources()),
      templates: countOf(host.templates()),
      quarantined: host.trust.server(name).items.filter(({ state }) => state === 'quarantined').length,
      origin: host.origin(name),
    }
  }

  /** The open questions and the last settled ones, each pushed as it changes. */
  #inboxSource(): TopicSource<InboxRow> {
    let settled: string[] = []
    const rows = (): [string, InboxRow][] => {
      const open = this.questions()
      const settledRows = this.questions({ state: 'all', limit: maxStoredSettled + open.length })
        .filter(({ state }) => state !== 'open')
        .slice(-maxStoredSettled)
      settled = settledRows.map(({ id }) => id)
      return [...settledRows, ...open].map((row) => [row.id, row])
    }
    return {
      rows,
      follow: ({ push, refresh }) => {
        const unsubscribe = this.host.on(
          (event) => {
            if (event.type !== 'question' && event.type !== 'later') return
            const row = this.#inboxRow(event.item)
            const changes: Change<InboxRow>[] = [{ set: row.id, row }]
            if (row.state !== 'open' && !settled.includes(row.id)) {
              settled.push(row.id)
              for (const id of settled.splice(0, settled.length - maxStoredSettled))
                changes.push({ remove: id })
            }
            push(changes)
          },
          ['question', 'later'],
        )
        return combineUnsubscribe(unsubscribe, this.host.onStored(refresh))
      },
    }
  }

  #inboxRow(item: InboxItem): InboxRow {
    return {
      ...item,
      rows: this.#questionRows.get(item.id) ?? [],
      digest: fingerprint(item.question),
      ...(this.#deferred.has(item.id) && { deferred: true }),
    }
  }
}

/** One function that calls all of these. */
function combineUnsubscribe(...cleanups: (() => void)[]): () => void {
  return () => {
    for (const cleanup of cleanups) cleanup()
  }
}

const trackedTypes: readonly HostEvent['type'][] = ['question', 'later', 'catalog']
