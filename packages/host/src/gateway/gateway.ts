import { AsyncLocalStorage } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import {
  type Change,
  type Changes,
  type Context,
  type Definitions,
  defineServer,
  type Exchange,
  McpError,
  type Outcome,
  RpcError,
  type Server,
  template,
} from '@jackfield/sdk'
import type { Watch } from '@jackfield/sdk/client'
import { canonical, isRecord } from '../shared/json.ts'
import { oneLine, reasonOf } from '../shared/text.ts'
import type { GatewayOptions, GatewayService, Host, OpenGateway } from '../types/index.ts'
import { Handlers } from './handlers.ts'
import { asWritten, isList, type Offer, offerOf } from './offer.ts'
import { ClientRelays } from './relays.ts'

type Names = NonNullable<Parameters<Server['remove']>[0]>

const defaultHeldMs = 600_000
/** Maximum conversations of clients without sessions; the least recently used ends first. */
const maxConversations = 256
/** The name of the template that reads resources which no list has. */
const unlistedTemplate = 'unlisted'
const notFoundCodes: readonly number[] = [-32_002, -32_602]

/** Offers the servers of one host as one server. */
class Gateway implements OpenGateway {
  readonly server: Server
  readonly #host: Host
  readonly #options: GatewayOptions
  readonly #handlers: Handlers
  readonly #inner: Server
  readonly #watches: ResourceWatches
  readonly #exchange = new AsyncLocalStorage<Exchange>()
  readonly #conversations = new Map<string, string>()
  readonly #sessionConversations = new WeakMap<object, string>()
  readonly #warned = new Set<string>()
  readonly #end: (() => void)[]
  #offer: Offer | undefined
  #closed = false

  constructor(host: Host, relays: ClientRelays, options: GatewayOptions) {
    this.#host = host
    this.#options = options
    this.#handlers = new Handlers({
      host,
      calls: relays.calls,
      heldMs: options.heldMs ?? defaultHeldMs,
      requestOf: (context) => ({ context, exchange: this.#currentExchange() }),
      conversationOf: (context) => this.#conversationOf(context),
    })
    const { name = 'jackfield', version = '0.1.0', title } = options
    this.#inner = defineServer({
      name,
      version,
      ...(title !== undefined && { title }),
      tools: {},
      prompts: {},
      resources: {
        [unlistedTemplate]: template({
          uriTemplate: '{+uri}',
          read: (_variables, context, uri) => this.#readUnlisted(uri, context),
        }),
      },
      onError: (error, where) => this.#warn(`${where.name ?? where.method}: ${reasonOf(error)}`),
    })
    this.#watches = new ResourceWatches(
      host,
      (uri) => this.#inner.resourceUpdated(uri),
      (message) => this.#warn(message),
    )
    this.server = this.#servedServer()
    this.#end = [
      relays.begin(),
      // A surface that shows nothing, so that the capabilities of gateway clients are declared to servers.
      host.attach({ name: 'gateway', show: {} }),
      host.on(
        (event) => {
          if (event.type !== 'connection') this.#refresh()
          else if (event.state.state === 'ready') this.#watches.resubscribe(event.server)
        },
        ['catalog', 'trust', 'connection'],
      ),
    ]
    this.#refresh()
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    for (const end of this.#end) end()
    this.#watches.close()
    this.#handlers.close()
    for (const conversation of this.#conversations.values()) this.#host.endConversation(conversation)
  }

  /** The served server: the current definitions, with every list entry as its server wrote it. */
  #servedServer(): Server {
    const inner = this.#inner
    const instructions = (): string | undefined => this.#instructions()
    return {
      info: inner.info,
      get instructions() {
        return instructions()
      },
      get capabilities() {
        return inner.capabilities
      },
      get scopes() {
        return inner.scopes
      },
      changes: this.#changes(),
      capabilitiesOn: inner.capabilitiesOn,
      method: inner.method,
      handle: (exchange) => this.#exchange.run(exchange, () => this.#handle(exchange)),
      add: inner.add,
      remove: inner.remove,
      resourceUpdated: inner.resourceUpdated,
      elicitationComplete: inner.elicitationComplete,
      isSubscribed: inner.isSubscribed,
      log: inner.log,
      scopesFor: inner.scopesFor,
      headerPlan: inner.headerPlan,
      taskSupport: inner.taskSupport,
      takeover: () => 'never',
      report: inner.report,
    }
  }

  async #handle(exchange: Exchange): Promise<Outcome> {
    const { method } = exchange
    if (method === 'subscriptions/listen') return this.#listen(exchange)
    if (isList(method)) this.#refresh()
    const outcome = await this.#inner.handle(exchange)
    if (method === 'server/discover' && outcome.type === 'complete') {
      const instructions = this.#instructions()
      if (instructions !== undefined) return { ...outcome, result: { ...outcome.result, instructions } }
    }
    return this.#offer === undefined ? outcome : asWritten(method, outcome, this.#offer.rows)
  }

  async #listen(exchange: Exchange): Promise<Outcome> {
    const notifications = exchange.params['notifications']
    const uris = isRecord(notifications) ? notifications['resourceSubscriptions'] : undefined
    const subscribed = Array.isArray(uris) ? uris.filter((uri) => typeof uri === 'string') : []
    const release = await this.#retain(subscribed)
    try {
      return await this.#inner.handle(exchange)
    } finally {
      release()
    }
  }

  #changes(): Changes {
    const { changes } = this.#inner
    return {
      publish: (change: Change) => changes.publish(change),
      watch: (...given) => changes.watch(...given),
      isWatched: (change) => changes.isWatched(change),
      subscribe: async (filter) => ({
        acknowledged: filter,
        release: await this.#retain(filter.resourceSubscriptions ?? []),
      }),
    }
  }

  async #retain(uris: readonly string[]): Promise<() => void> {
    const releases = await Promise.all(
      [...new Set(uris)].flatMap((uri) => {
        const server = this.#offer?.owners.get(uri) ?? this.#serversWithScheme(uri)[0]
        return server === undefined ? [] : [this.#watches.retain(server, uri)]
      }),
    )
    return () => {
      for (const release of releases.splice(0)) release()
    }
  }

  /** The servers that list a resource or template with the scheme of this URI: only they may have it. */
  #serversWithScheme(uri: string): string[] {
    const scheme = schemeOf(uri)
    const { rows } = this.#offer ?? {}
    const resources = this.#host
      .resources()
      .filter(({ resource }) => rows?.resources.has(resource.uri) && schemeOf(resource.uri) === scheme)
    const templates = this.#host
      .templates()
      .filter(
        ({ template: { uriTemplate } }) =>
          rows?.templates.has(uriTemplate) && schemeOf(uriTemplate) === scheme,
      )
    return [...new Set([...resources, ...templates].map(({ server }) => server))]
  }

  async #readUnlisted(uri: string, context: Context): ReturnType<Handlers['read']> {
    let last: unknown = new RpcError(-32_002, 'Resource not found', { uri })
    for (const server of this.#serversWithScheme(uri)) {
      try {
        return await this.#handlers.read(server, uri, context)
      } catch (error) {
        if (!(error instanceof RpcError) || !notFoundCodes.includes(error.code)) throw error
        last = error
      }
    }
    throw last
  }

  #currentExchange(): Exchange {
    const exchange = this.#exchange.getStore()
    if (exchange === undefined)
      throw new McpError('INVALID', 'A request to the gateway did not pass through its handler')
    return exchange
  }

  /**
   * The conversation of a request: that of its session. Without sessions, that of its user and its client's name, so that a grant
   * for one application's conversation does not apply to another's. Undefined for a request of an unknown user: no grant for a
   * conversation applies to it, and the labels of all data seen outside conversations do.
   */
  #conversationOf({ peer }: Context): string | undefined {
    const { session } = this.#currentExchange()
    if (session !== undefined) {
      const known = this.#sessionConversations.get(session)
      if (known !== undefined) return known
      const conversation = newConversation()
      this.#sessionConversations.set(session, conversation)
      session.ended.addEventListener('abort', () => this.#host.endConversation(conversation), { once: true })
      return conversation
    }
    if (peer.principal === null && peer.scopes !== 'any') return undefined
    const clientKey = JSON.stringify([peer.principal, peer.info?.name ?? null])
    const known = this.#conversations.get(clientKey) ?? newConversation()
    this.#conversations.delete(clientKey)
    this.#conversations.set(clientKey, known)
    const [oldest] = this.#conversations
    if (this.#conversations.size > maxConversations && oldest !== undefined) {
      this.#conversations.delete(oldest[0])
      this.#host.endConversation(oldest[1])
    }
    return known
  }

  #instructions(): string | undefined {
    const parts = this.#host
      .instructions()
      .filter(({ server }) => this.#offers(server))
      .map(({ server, text }) => `# ${server}\n\n${text}`)
    return parts.length === 0 ? undefined : parts.join('\n\n')
  }

  #offers(server: string): boolean {
    const { rows, owners } = this.#offer ?? {}
    if (rows === undefined || owners === undefined) return false
    return (
      this.#host.tools().some((entry) => entry.server === server && rows.tools.has(entry.name)) ||
      this.#host.prompts().some((entry) => entry.server === server && rows.prompts.has(entry.name)) ||
      [...owners.values()].includes(server)
    )
  }

  /** Applies the host's current definitions, and notifies clients of changes. */
  #refresh(): void {
    if (this.#closed) return
    const before = this.#offer
    const now = offerOf(this.#host, this.#options.only, this.#handlers)
    this.#offer = now
    this.#replace('tools', before?.tools, now.tools, keysOfChanged(before?.rows.tools, now.rows.tools))
    this.#replace(
      'prompts',
      before?.prompts,
      now.prompts,
      keysOfChanged(before?.rows.prompts, now.rows.prompts),
    )
    const changedKeys = [
      ...keysOfChanged(before?.rows.resources, now.rows.resources),
      ...keysOfChanged(before?.rows.templates, now.rows.templates),
      ...[...now.owners].flatMap(([uri, server]) => (before?.owners.get(uri) === server ? [] : [uri])),
    ]
    this.#replace('resources', before?.resources, now.resources, new Set(changedKeys))
  }

  #replace<K extends keyof Names & keyof Definitions, V extends NonNullable<Definitions[K]>[string]>(
    kind: K,
    before: ReadonlyMap<string, V> | undefined,
    now: ReadonlyMap<string, V>,
    changedKeys: ReadonlySet<string>,
  ): void {
    const old = [...(before?.keys() ?? [])]
    const remaining = old.filter((key) => now.has(key))
    const order = [...now.keys()]
    const misplaced = remaining.findIndex((key, index) => order[index] !== key)
    // Lists follow the order of the configuration, not of connection.
    const moved = new Set(misplaced < 0 ? [] : remaining.slice(misplaced))
    const removed = old.filter((key) => !now.has(key) || moved.has(key))
    if (removed.length > 0) this.#inner.remove({ [kind]: removed })
    for (const [key, value] of now) {
      if (!changedKeys.has(key) && !moved.has(key)) continue
      try {
        this.#inner.add({ [kind]: { [key]: value } })
      } catch (error) {
        this.#warn(`${oneLine(key)} cannot be offered: ${reasonOf(error)}`)
      }
    }
  }

  #warn(message: string): void {
    if (this.#warned.has(message)) return
    this.#warned.add(message)
    this.#options.onWarning?.(message)
  }
}

function keysOfChanged(
  before: ReadonlyMap<string, object> | undefined,
  now: ReadonlyMap<string, object>,
): Set<string> {
  const changedKeys = new Set<string>()
  for (const [key, entry] of now) {
    const previous = before?.get(key)
    if (previous === undefined || (previous !== entry && canonical(previous) !== canonical(entry)))
      changedKeys.add(key)
  }
  return changedKeys
}

function newConversation(): string {
  return `gateway:${randomUUID()}`
}

function schemeOf(uri: string): string {
  return uri.slice(0, uri.indexOf(':') + 1).toLowerCase()
}

/** The gateways of one host, and the routing of questions to their clients. */
export class Gateways implements GatewayService {
  readonly relays: ClientRelays
  readonly #host: Host

  constructor(host: Host) {
    this.#host = host
    this.relays = new ClientRelays(host)
  }

  open: GatewayService['open'] = (options = {}) => new Gateway(this.#host, this.relays, options)
}

interface SharedWatch {
  readonly server: string
  references: number
  watch: Promise<Watch | undefined>
}

/** Resources watched for gateway clients: each once at its server. */
class ResourceWatches {
  readonly #host: Pick<Host, 'watch'>
  readonly #updated: (uri: string) => void
  readonly #warn: (message: string) => void
  readonly #byUri = new Map<string, SharedWatch>()

  constructor(host: Pick<Host, 'watch'>, updated: (uri: string) => void, warn: (message: string) => void) {
    this.#host = host
    this.#updated = updated
    this.#warn = warn
  }

  /** Watches a resource until the returned function is called. Resolves when the subscription is active. */
  async retain(server: string, uri: string): Promise<() => void> {
    const known = this.#byUri.get(uri)
    const watched = known ?? { server, references: 0, watch: this.#open(server, uri) }
    this.#byUri.set(uri, watched)
    watched.references++
    await watched.watch
    return () => {
      if (--watched.references > 0) return
      this.#byUri.delete(uri)
      watched.watch.then((watch) => watch?.close())
    }
  }

  /** Subscribes again after a reconnect, which ended the server's subscriptions. */
  resubscribe(server: string): void {
    for (const [uri, watched] of this.#byUri) {
      if (watched.server !== server) continue
      const before = watched.watch
      watched.watch = before.then(async (watch) => {
        await watch?.close()
        if (watched.references === 0) return undefined
        // Changes during the reconnect were not reported.
        this.#updated(uri)
        return this.#open(server, uri)
      })
    }
  }

  close(): void {
    for (const { watch } of this.#byUri.values()) watch.then((open) => open?.close())
    this.#byUri.clear()
  }

  async #open(server: string, uri: string): Promise<Watch | undefined> {
    try {
      return await this.#host.watch(server, [uri], (change) => {
        if (change.type === 'resource') this.#updated(uri)
      })
    } catch (error) {
      this.#warn(`Changes of ${uri} cannot be watched at ${server}: ${reasonOf(error)}`)
      return undefined
    }
  }
}
