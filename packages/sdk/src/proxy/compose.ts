import { ErrorCode, McpError, RpcError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import type { Implementation, LoggingLevel, ServerCapabilities } from '../protocol/definitions.ts'
import { type MethodRow, methodRow, type ProtocolVersion, protocolVersions } from '../protocol/methods.ts'
import type { Change, Changes } from '../request/changes.ts'
import { allows, type Caller, type Exchange, type Outcome } from '../request/exchange.ts'
import { requireKnown } from '../request/known-members.ts'
import { logOf } from '../server/handler-context.ts'
import { clipped } from '../server/run.ts'
import type { Middleware, Server } from '../server/server.ts'
import { listen } from '../server/subscriptions.ts'
import { MergedChanges, type MergedList, mergedPage } from './merged.ts'
import { ExtensionOwners, ResourceRouter } from './resource-index.ts'
import { Member } from './upstream.ts'

/** The most characters a tool's name may have. */
export const maxNameChars = 128

const prefixForm = /^[A-Za-z0-9_.-]{1,64}$/
const separatorForm = /^[A-Za-z0-9_.-]{1,8}$/

/**
 * Names of a composition: a member's prefix, the separator, the member's own name. No prefix may hold the separator or
 * run into it, so the first place it stands at is where a name is taken apart, and no two names become one.
 */
export class Prefixes {
  readonly separator: string

  /** @throws McpError 'INVALID' for a separator that no tool's name could hold */
  constructor(separator: string) {
    if (!separatorForm.test(separator)) {
      throw new McpError('INVALID', `The separator "${separator}" must be 1 to 8 of A-Z a-z 0-9 _ - .`)
    }
    this.separator = separator
  }

  /** @throws McpError 'INVALID' for a prefix that would not be found again, saying what to do */
  check(prefix: string): void {
    if (!prefixForm.test(prefix)) {
      throw new McpError(
        'INVALID',
        `"${prefix}" cannot be a prefix: use 1 to 64 of A-Z a-z 0-9 _ - . as the key of this server`,
      )
    }
    if (`${prefix}${this.separator}`.indexOf(this.separator) === prefix.length) return
    throw new McpError(
      'INVALID',
      `"${prefix}" cannot be a prefix with the separator "${this.separator}": names of two servers could become one. ` +
        'Choose a prefix that neither holds the separator nor ends with its beginning, or another separator.',
    )
  }

  join(prefix: string, name: string): string {
    return `${prefix}${this.separator}${name}`
  }

  /** The prefix and the member's own name; undefined for a name that is not put together so. */
  split(name: string): { readonly prefix: string; readonly name: string } | undefined {
    const at = name.indexOf(this.separator)
    if (at === -1) return undefined
    return { prefix: name.slice(0, at), name: name.slice(at + this.separator.length) }
  }
}

/** Layers around the handling of requests, outermost first. */
export function through(
  layers: readonly Middleware[],
  serve: (exchange: Exchange) => Promise<Outcome>,
): (exchange: Exchange) => Promise<Outcome> {
  return layers.reduceRight<typeof serve>((next, layer) => async (exchange) => layer(exchange, next), serve)
}

/** Reports to whoever runs a server, whose own failure to hear must not become another one. */
export function reporter(name: () => string, onError: Server['report'] | undefined): Server['report'] {
  return (error, where) => {
    try {
      if (onError !== undefined) onError(error, where)
      else console.error(`[${name()}] ${where.method}:`, error)
    } catch {
      // There is nobody left to tell.
    }
  }
}

/** What several servers declare together: whatever any of them does. Of settings under one name the first count. */
export function united(all: readonly ServerCapabilities[]): ServerCapabilities {
  const together = new Map<string, object>()
  for (const capabilities of all) {
    for (const [name, value] of Object.entries(capabilities)) {
      if (value !== undefined) together.set(name, merged(together.get(name) ?? {}, value))
    }
  }
  return Object.fromEntries(together)
}

/** A flag that any of them has is set. */
function merged(first: object, second: object): object {
  const settings = new Map<string, unknown>(Object.entries(second))
  for (const [name, value] of Object.entries(first)) {
    if (settings.get(name) !== true) settings.set(name, value)
  }
  return Object.fromEntries(settings)
}

const defaultSeparator = '__'
const defaultPageSize = 1000
const maxReported = 1000
const optionNames = Object.keys({
  name: true,
  version: true,
  title: true,
  instructions: true,
  icons: true,
  servers: true,
  separator: true,
  pageSize: true,
  use: true,
  onError: true,
} satisfies Record<keyof CompositionOptions, true>)

/**
 * Mounts servers under prefixes and serves them as one. Tools and prompts are named `prefix__name`; resources keep
 * their URIs and go to whose they are. Members may be changed, added and taken away while it is served.
 * @throws McpError 'INVALID' for a prefix or separator that cannot be, saying what to do
 */
export function compose(options: CompositionOptions): Composition {
  requireKnown('The options object of compose', options, optionNames)
  return new ComposedServer(options)
}

class ComposedServer implements Composition {
  readonly info: Implementation
  readonly changes: Changes
  readonly handle: Server['handle']
  readonly report: Server['report']
  readonly #options: CompositionOptions
  readonly #prefixes: Prefixes
  readonly #merged: MergedChanges
  readonly #owners: ResourceRouter
  readonly #made = new ExtensionOwners()
  readonly #reported = new Set<string>()
  readonly #members = new Map<string, Member>()

  constructor(options: CompositionOptions) {
    const { name, version, title, icons, separator = defaultSeparator, servers } = options
    this.#options = options
    this.info = { name, version, ...(title && { title }), ...(icons && { icons }) }
    this.#prefixes = new Prefixes(separator)
    this.report = reporter(() => name, options.onError)
    this.#owners = new ResourceRouter(() => this.#list())
    this.#merged = new MergedChanges({
      members: () => this.#members.values(),
      ownersOf: (uri, listener) => this.#owners.ofPlace(listener, uri),
      heard: (member, change) => this.#heard(member, change),
    })
    this.changes = this.#merged
    for (const [prefix, server] of Object.entries(servers)) this.#add(prefix, server)
    this.handle = through(options.use ?? [], (exchange) => this.#serve(exchange))
  }

  get instructions(): string | undefined {
    const own = this.#options.instructions
    const parts = this.#list().flatMap(({ prefix, server }) =>
      server.instructions === undefined
        ? []
        : [
            `# ${prefix}\n\nTools and prompts of this part begin with \`${this.#prefixes.join(prefix, '')}\`.\n\n${server.instructions}`,
          ],
    )
    const all = own === undefined ? parts : [own, ...parts]
    return all.length === 0 ? undefined : all.join('\n\n')
  }

  get capabilities(): ServerCapabilities {
    return united(this.#list().map(({ server }) => server.capabilities))
  }

  capabilitiesOn(version: ProtocolVersion, caller?: Caller): ServerCapabilities {
    return united(this.#list().map(({ server }) => server.capabilitiesOn(version, caller)))
  }

  method(name: string, version: ProtocolVersion): MethodRow | undefined {
    return methodRow(name, version) ?? this.#speaking(name, version)[0]?.server.method(name, version)
  }

  headerPlan(tool: string): ReturnType<Server['headerPlan']> {
    const { member, name } = this.#named(tool) ?? {}
    return name === undefined ? undefined : member?.server.headerPlan(name)
  }

  taskSupport(tool: string): ReturnType<Server['taskSupport']> {
    const { member, name } = this.#named(tool) ?? {}
    return name === undefined ? undefined : member?.server.taskSupport(name)
  }

  get memoryOnly(): readonly string[] {
    return [...new Set(this.#list().flatMap(({ server }) => server.memoryOnly ?? []))]
  }

  get scopes(): readonly string[] {
    return [...new Set(this.#list().flatMap(({ server }) => server.scopes))]
  }

  scopesFor(...[method, params, uriChars]: Parameters<Server['scopesFor']>): readonly string[] {
    const { name, ref } = params ?? {}
    // A request may hold more params than its method has: only those count that say where it goes.
    const reference = method === 'completion/complete' && isObject(ref) ? ref : undefined
    const isPlaced = method.startsWith('resources/') || reference?.['type'] === 'ref/resource'
    const named = isPlaced ? undefined : reference === undefined ? name : reference['name']
    if (typeof named === 'string') {
      const found = this.#named(named)
      if (found === undefined) return []
      const own = reference === undefined ? { name: found.name } : { ref: { ...reference, name: found.name } }
      return found.member.server.scopesFor(method, { ...params, ...own }, uriChars)
    }
    // Whose a URI is takes asking; what any of them needs for it is needed.
    return [...new Set(this.#list().flatMap(({ server }) => server.scopesFor(method, params, uriChars)))]
  }

  add(): void {
    throw new McpError(
      'INVALID',
      'A composition defines nothing itself: add to one of its servers, or mount another one',
    )
  }

  remove(): void {
    throw new McpError('INVALID', 'A composition defines nothing itself: remove from one of its servers')
  }

  mount(prefix: string, server: Server): void {
    this.#add(prefix, server)
    this.#changed(server)
  }

  unmount(prefix: string): void {
    const member = this.#members.get(prefix)
    if (member === undefined) return
    this.#members.delete(prefix)
    this.#changed(member.server)
  }

  resourceUpdated(uri: string): void {
    this.changes.publish({ type: 'resource', uri })
  }

  elicitationComplete(id: string): void {
    this.changes.publish({ type: 'elicitation', id })
  }

  isSubscribed(uri: string): boolean {
    return this.changes.isWatched({ type: 'resource', uri })
  }

  log(level: LoggingLevel, data: unknown, logger?: string): void {
    this.changes.publish(logOf(level, data, logger))
  }

  #list(): readonly Member[] {
    return [...this.#members.values()]
  }

  #add(prefix: string, server: Server): void {
    this.#prefixes.check(prefix)
    if (server === this) throw new McpError('INVALID', 'A composition cannot be a part of itself')
    this.#members.set(prefix, new Member(prefix, server))
  }

  #changed({ capabilities }: Server): void {
    this.#merged.refresh()
    for (const type of ['tools', 'prompts', 'resources'] as const) {
      if (capabilities[type] !== undefined) this.changes.publish({ type })
    }
  }

  #heard({ catalogue }: Member, change: Change): void {
    if (change.type === 'resources' || change.type === 'anything') catalogue.stale()
  }

  /** The member a name belongs to, and the name it goes by there. */
  #named(name: string): { member: Member; name: string } | undefined {
    if (name.length > maxNameChars) return undefined
    const parts = this.#prefixes.split(name)
    const member = parts && this.#members.get(parts.prefix)
    return parts && member && { member, name: parts.name }
  }

  /** Members that serve a method beyond the core protocol. */
  #speaking(method: string, version: ProtocolVersion): readonly Member[] {
    return this.#list().filter(({ server }) => server.method(method, version) !== undefined)
  }

  async #serve(exchange: Exchange): Promise<Outcome> {
    const { method, params, peer, limits } = exchange
    switch (method) {
      case 'server/discover':
        return this.#discover(exchange)
      case 'subscriptions/listen':
        return listen(this.changes, this.capabilities, exchange, (uri) =>
          allows(peer, this.scopesFor('resources/subscribe', { uri }, limits.uriChars)),
        )
      case 'tools/list':
        return this.#page(exchange, this.#namedList('tools', method))
      case 'prompts/list':
        return this.#page(exchange, this.#namedList('prompts', method))
      case 'resources/list':
        return this.#page(exchange, this.#placedList('resources', 'uri', exchange))
      case 'resources/templates/list':
        return this.#page(exchange, this.#placedList('resourceTemplates', 'uriTemplate', exchange))
      case 'tools/call':
        return this.#call(exchange, 'tool')
      case 'prompts/get':
        return this.#call(exchange, 'prompt')
      case 'resources/read':
        if (typeof params['uri'] !== 'string') throw invalidParams('"uri" must be a string')
        if (params['uri'].length > limits.uriChars) {
          throw invalidParams(`"uri" must have at most ${limits.uriChars} characters`)
        }
        return this.#owners.read(exchange, params['uri'])
      case 'completion/complete':
        return this.#complete(exchange)
      default:
        return this.#extension(exchange, this.#speaking(method, peer.revision.version))
    }
  }

  #discover({ peer }: Exchange): Outcome {
    const { instructions } = this
    const result: JsonObject = {
      supportedVersions: protocolVersions.toReversed(),
      capabilities: this.capabilitiesOn(peer.revision.version, peer),
      ttlMs: 0,
      cacheScope: 'private',
    }
    if (instructions !== undefined) result['instructions'] = instructions
    return { type: 'complete', result }
  }

  async #page(exchange: Exchange, list: MergedList): Promise<Outcome> {
    if (this.capabilities[list.capability] === undefined) throw notFound(exchange.method)
    return mergedPage(exchange, list, {
      members: this.#list(),
      pageSize: this.#options.pageSize ?? defaultPageSize,
      onFailure: ({ prefix }, error) => this.report(error, { method: exchange.method, name: prefix }),
    })
  }

  #namedList(capability: 'tools' | 'prompts', method: string): MergedList {
    return {
      column: capability,
      capability,
      show: (entry, { prefix }) => {
        if (typeof entry['name'] !== 'string') return undefined
        const name = this.#prefixes.join(prefix, entry['name'])
        const { inputSchema } = entry
        if (capability === 'tools' && (!isObject(inputSchema) || inputSchema['type'] !== 'object')) {
          const why = `"${clipped(entry['name'])}" of "${prefix}" cannot be offered: its "inputSchema" is none of the type "object", and clients may refuse a whole list for it.`
          this.#tell(why, method, name)
          return undefined
        }
        if (name.length <= maxNameChars) return { ...entry, name }
        const why = `"${clipped(entry['name'])}" of "${prefix}" cannot be offered: with its prefix it has more than ${maxNameChars} characters. Mount it under a shorter prefix.`
        this.#tell(why, method, name)
        return undefined
      },
    }
  }

  #placedList(
    column: 'resources' | 'resourceTemplates',
    key: 'uri' | 'uriTemplate',
    exchange: Exchange,
  ): MergedList {
    return {
      column,
      capability: 'resources',
      before: (member) => this.#owners.readBefore(exchange, member),
      learn: ({ catalogue }, page) => catalogue.learn(page),
      show: (entry, member) => {
        const place = entry[key]
        if (typeof place !== 'string') return undefined
        const taken = this.#owners.isTaken(member, ({ catalogue }) =>
          key === 'uri' ? catalogue.lists(place) : catalogue.hasTemplate(place),
        )
        if (!taken) return entry
        const why = `"${member.prefix}" lists ${clipped(place)}, which a server mounted before it lists too: the first has it. Give one of them another URI.`
        this.#tell(why, exchange.method, place)
        return undefined
      },
    }
  }

  async #call(exchange: Exchange, what: 'tool' | 'prompt'): Promise<Outcome> {
    const { name } = exchange.params
    if (typeof name !== 'string') throw invalidParams('"name" must be a string')
    const found = this.#named(name)
    if (found === undefined) throw new RpcError(ErrorCode.InvalidParams, `Unknown ${what}: ${clipped(name)}`)
    const { member } = found
    const own = member.exchange(exchange, { ...exchange.params, name: found.name }, name)
    const outcome = await member.server.handle(own)
    this.#made.learn(member, outcome)
    return outcome
  }

  async #complete(exchange: Exchange): Promise<Outcome> {
    const { ref } = exchange.params
    const { type, name, uri } = isObject(ref) ? ref : {}
    if (type === 'ref/prompt' && typeof name === 'string') {
      const found = this.#named(name)
      if (found === undefined) throw invalidParams(`unknown prompt "${clipped(name)}"`)
      const { member } = found
      const own = { ...exchange.params, ref: { type, name: found.name } }
      return member.server.handle(member.exchange(exchange, own))
    }
    if (type !== 'ref/resource' || typeof uri !== 'string') {
      throw invalidParams('"ref" must be a ref/prompt with a "name" or a ref/resource with a "uri"')
    }
    const member = await this.#owners.ofReference(exchange, uri)
    if (member === undefined) throw invalidParams(`unknown resource template "${clipped(uri)}"`)
    return member.server.handle(member.exchange(exchange, exchange.params))
  }

  /** Where several members serve a method, whoever made what is meant is asked, or else each until one knows it. */
  async #extension(exchange: Exchange, members: readonly Member[]): Promise<Outcome> {
    const { method, params, peer } = exchange
    const maker = this.#made.makerOf(params, this.method(method, peer.revision.version)?.named)
    let unknown: unknown = notFound(method)
    for (const member of maker !== undefined && members.includes(maker) ? [maker] : members) {
      try {
        return await member.server.handle(member.exchange(exchange, params))
      } catch (error) {
        if (!(error instanceof RpcError) || error.code !== ErrorCode.InvalidParams) throw error
        unknown = error
      }
    }
    throw unknown
  }

  /** Reports once what would be found again with every list. */
  #tell(why: string, method: string, name: string): void {
    if (this.#reported.has(why) || this.#reported.size >= maxReported) return
    this.#reported.add(why)
    this.report(new McpError('INVALID', why), { method, name })
  }
}

function notFound(method: string): RpcError {
  return new RpcError(ErrorCode.MethodNotFound, `Method not found: this server does not offer "${method}"`)
}

function invalidParams(why: string): RpcError {
  return new RpcError(ErrorCode.InvalidParams, `Invalid params: ${why}`)
}

/** What a composition is called and which servers it is made of. */
export interface CompositionOptions {
  name: string
  version: string
  title?: string
  /** What stands before the instructions of the members. */
  instructions?: string
  icons?: Implementation['icons']
  /**
   * The members, each under the prefix of its tools and prompts. Their order decides where two list one resource: the
   * first has it, and the other's is reported and left out.
   */
  servers: Readonly<Record<string, Server>>
  /** Stands between prefix and name: `travel__book`. Default `__`. */
  separator?: string
  /** Entries on one page of a list, about. Default 1000. */
  pageSize?: number
  /** Wraps the handling of every request, outermost first. */
  use?: readonly Middleware[]
  /**
   * Hears of what a member offers and the composition cannot, and of members that fail. Default: writes to stderr where
   * there is one.
   */
  onError?: (error: unknown, where: { method: string; name?: string }) => void
}

/** Several servers as one. */
export interface Composition extends Server {
  /** Adds a member, or replaces the one under this prefix, and tells watchers. @throws McpError 'INVALID' */
  mount(prefix: string, server: Server): void
  /** Takes a member away and tells watchers; a prefix that is not there is no fault. */
  unmount(prefix: string): void
}
