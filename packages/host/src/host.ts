import { type GetPromptResult, McpError, type ReadResourceResult } from '@jackfield/sdk'
import type { Client, ServerChange, Watch } from '@jackfield/sdk/client'
import { answersFor, type Origin, Origins } from './asking/index.ts'
import { Broker, isTransport } from './broker/index.ts'
import { createCatalog } from './catalog/index.ts'
import { rootProblem } from './config/index.ts'
import { listChanges, ServerConnection } from './connections/index.ts'
import { LiveInbox } from './inbox/index.ts'
import { createGrants, createPolicy } from './policy/index.ts'
import { createRecorder, openStore, type RowStart } from './store/index.ts'
import { reasonOf } from './text.ts'
import type { ConnectionState, Host, HostEvent, HostOptions, ServerConfig } from './types/index.ts'

const defaults = {
  connectTimeoutMs: 8_000,
  callTimeoutMs: 60_000,
  info: { name: 'jackfield', version: '0.1.0', title: 'Jackfield' },
}
const closeWaitMs = 2_000

/**
 * Makes a host. Nothing is started before `start`. Throws a StoreError where the store cannot be opened, and an
 * McpError 'INVALID' where a root is not a plain local folder.
 */
export function createHost(options: HostOptions): Host {
  const roots = options.roots ?? []
  for (const { uri } of roots) {
    const problem = rootProblem(uri)
    if (problem !== undefined) throw new McpError('INVALID', `A root ${problem}`)
  }
  return new LiveHost(options)
}

class LiveHost implements Host {
  readonly connections: ReadonlyMap<string, ConnectionState>
  readonly #servers: ReadonlyMap<string, ServerConnection>
  readonly #catalog: ReturnType<typeof createCatalog>
  readonly #broker: Broker
  readonly #grants: ReturnType<typeof createGrants>
  readonly #store: ReturnType<typeof openStore>
  readonly #recorder: ReturnType<typeof createRecorder>
  readonly inbox: LiveInbox = new LiveInbox((item) => this.#emit({ type: 'question', item }))
  readonly #origins = new Origins()
  readonly #states = new Map<string, ConnectionState>()
  readonly #listeners = new Set<(event: HostEvent) => void>()
  readonly #running = new Set<Promise<unknown>>()
  readonly #over = new AbortController()
  #closing: Promise<void> | undefined

  constructor(options: HostOptions) {
    this.#store = openStore(options.store ?? ':memory:')
    this.#recorder = createRecorder(this.#store.activity, {
      row: (row) => this.#emit({ type: 'activity', row }),
      failed: (error) => process.emitWarning(`An activity could not be written: ${reasonOf(error)}`),
    })
    this.connections = this.#states
    if (options.surface !== undefined) this.inbox.attach(options.surface)
    this.#servers = new Map(
      Object.entries(options.servers).map(
        ([name, config]) => [name, this.#connection(name, config, options)] as const,
      ),
    )
    this.#catalog = createCatalog(this.#servers, (server, message) =>
      this.#emit({ type: 'warning', server, message }),
    )
    this.#grants = createGrants(this.#store.grants)
    this.#broker = new Broker({
      catalog: this.#catalog,
      origins: this.#origins,
      recorder: this.#recorder,
      asker: this.inbox,
      policy: createPolicy({
        rules: options.rules ?? [],
        defaultVerdict: options.defaultVerdict ?? 'ask',
        grants: this.#grants,
      }),
      callTimeoutMs: options.callTimeoutMs ?? defaults.callTimeoutMs,
      emit: (event) => this.#emit(event),
    })
  }

  attach: Host['attach'] = (surface) => this.inbox.attach(surface)

  async start(): Promise<void> {
    this.#refuseWhenClosed()
    await Promise.all([...this.#servers.values()].map((server) => server.start()))
  }

  async reconnect(server: string): Promise<void> {
    this.#refuseWhenClosed()
    await this.#catalog.server(server).reconnect()
  }

  tools: Host['tools'] = () => this.#catalog.tools()
  prompts: Host['prompts'] = () => this.#catalog.prompts()
  resources: Host['resources'] = () => this.#catalog.resources()
  templates: Host['templates'] = () => this.#catalog.templates()

  instructions(): ReturnType<Host['instructions']> {
    return [...this.#servers.values()].flatMap(({ name, client }) => {
      const text = client?.server.instructions
      return text === undefined ? [] : [{ server: name, text }]
    })
  }

  call: Host['call'] = (name, args, { caller, typed = false, signal, cause }) =>
    this.#track(() => this.#broker.call(name, args, { caller, typed, cause, signal: this.#until(signal) }))

  async read(
    server: string,
    uri: string,
    options: { signal?: AbortSignal } = {},
  ): Promise<ReadResourceResult> {
    const connection = this.#catalog.server(server)
    return this.#told(
      { kind: 'read', server, summary: uri, detail: { uri } },
      { method: 'resources/read', target: uri },
      connection,
      (client, signal) => client.read(uri, { signal }),
      options.signal,
    )
  }

  async prompt(
    name: string,
    args: Record<string, string>,
    options: { signal?: AbortSignal } = {},
  ): Promise<GetPromptResult> {
    const { entry, connection } = this.#catalog.prompt(name)
    const own = entry.prompt.name
    return this.#told(
      {
        kind: 'prompt',
        server: entry.server,
        summary: `Prompt ${own}`,
        detail: { prompt: own, arguments: args },
      },
      { method: 'prompts/get', target: own, arguments: args },
      connection,
      (client, signal) => client.prompt(own, args, { signal }),
      options.signal,
    )
  }

  complete: Host['complete'] = (server, params, options = {}) =>
    this.#track(async () => {
      const signal = this.#until(options.signal)
      const client = await this.#catalog.server(server).ready(signal)
      return client.complete(params, { signal })
    })

  watch(server: string, uris: readonly string[], onChange: (change: ServerChange) => void): Promise<Watch> {
    const connection = this.#catalog.server(server)
    return this.#track(async () => {
      const client = await connection.ready(this.#over.signal)
      const lists = listChanges(client)
      const row = this.#recorder.open({
        kind: 'change',
        server,
        summary: `Changes of ${server} are watched`,
        detail: { ...lists, uris },
      })
      try {
        const filter = { ...lists, ...(uris.length > 0 && { resourceSubscriptions: [...uris] }) }
        const watch = await client.watch(filter, onChange)
        const ended = watch.closed.then(() => {
          row.close('ended', { honored: watch.honored })
          this.#running.delete(ended)
        })
        this.#running.add(ended)
        return watch
      } catch (error) {
        row.close('error', { reason: reasonOf(error) })
        throw error
      }
    })
  }

  on(listener: (event: HostEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  activity: Host['activity'] = (filter) => this.#store.activity.list(filter)

  grants: Host['grants'] = () => this.#grants.list()

  revoke(id: string): boolean {
    this.#refuseWhenClosed()
    const grant = this.#grants.remove(id)
    if (grant === undefined) return false
    const { server, tool } = grant
    const summary = `The answer about ${tool} of ${server} is forgotten`
    this.#recorder.note({ kind: 'approval', server, summary, detail: { ...grant } }, 'revoked')
    return true
  }

  record: Host['record'] = ({ outcome, durationMs, ...start }) => {
    this.#refuseWhenClosed()
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
    this.#over.abort(new McpError('CANCELLED', 'The host was closed'))
    const closing = [...this.#servers.values()].map((server) => server.close())
    for (const { name, state } of this.#servers.values()) this.#states.set(name, state)
    await Promise.all(closing)
    const patience = new Promise((resolve) => setTimeout(resolve, closeWaitMs).unref())
    await Promise.race([Promise.allSettled(this.#running), patience])
    this.#store.close()
  }

  #connection(name: string, config: ServerConfig, options: HostOptions): ServerConnection {
    const { revisions, onMessage } = options.connect ?? {}
    const connection = new ServerConnection({
      name,
      config,
      connectTimeoutMs: options.connectTimeoutMs ?? defaults.connectTimeoutMs,
      lists: options.connect?.lists,
      follow: options.connect?.follow,
      client: {
        info: options.info ?? defaults.info,
        logLevel: 'info',
        timeoutMs: options.callTimeoutMs ?? defaults.callTimeoutMs,
        ...(revisions !== undefined && { revisions }),
        ...(onMessage !== undefined && {
          onMessage: (direction, message) => onMessage(name, direction, message),
        }),
        onLog: ({ level, logger, data }) =>
          this.#emit({ type: 'log', server: name, level, data, ...(logger !== undefined && { logger }) }),
        ...answersFor(name, {
          asker: this.inbox,
          models: options.models,
          roots: options.roots ?? [],
          origins: this.#origins,
          recorder: this.#recorder,
          rootsChanged: () => this.#rootsChanged(connection),
          signal: this.#over.signal,
        }),
      },
      onState: (state) => this.#stateChanged(name, state),
      onLists: () => this.#emit({ type: 'catalog' }),
      onResourceUpdated: (uri) => this.#emit({ type: 'resource-updated', server: name, uri }),
      onStderr: (text) => this.#emit({ type: 'stderr', server: name, text }),
      onWarning: (message) => this.#emit({ type: 'warning', server: name, message }),
    })
    this.#states.set(name, connection.state)
    return connection
  }

  #rootsChanged({ name, client }: ServerConnection): void {
    client?.rootsChanged().catch((error: unknown) => {
      const message = `The server could not be told that roots changed: ${reasonOf(error)}`
      this.#emit({ type: 'warning', server: name, message })
    })
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
    this.#emit({ type: 'connection', server, state })
  }

  /** Does something at a server and writes a row of it. */
  #told<T extends object>(
    start: RowStart,
    origin: Omit<Origin, 'server' | 'row'>,
    connection: ServerConnection,
    work: (client: Client, signal: AbortSignal) => Promise<T>,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    return this.#track(async () => {
      const until = this.#until(signal)
      const row = this.#recorder.open(start)
      const over = this.#origins.begin({ ...origin, server: connection.name, row: row.id })
      try {
        const client = await connection.ready(until)
        const result = await work(client, until).catch((error: unknown) => {
          if (isTransport(error)) connection.suspect(client)
          throw error
        })
        row.close('ok', { result })
        return result
      } catch (error) {
        row.close(until.aborted ? 'cancelled' : 'error', { reason: reasonOf(error) })
        throw error
      } finally {
        over()
      }
    })
  }

  async #track<T>(work: () => Promise<T>): Promise<T> {
    this.#refuseWhenClosed()
    const running = work()
    this.#running.add(running)
    try {
      return await running
    } finally {
      this.#running.delete(running)
    }
  }

  #until(signal: AbortSignal | undefined): AbortSignal {
    return signal === undefined ? this.#over.signal : AbortSignal.any([this.#over.signal, signal])
  }

  #refuseWhenClosed(): void {
    if (this.#over.signal.aborted) throw new McpError('CONNECTION_CLOSED', 'The host is closed')
  }

  #emit(event: HostEvent): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(event)
      } catch (error) {
        process.emitWarning(`A listener of the host threw: ${reasonOf(error)}`)
      }
    }
  }
}
