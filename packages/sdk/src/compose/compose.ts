import type { Change, Changes } from '../core/changes.ts'
import type { Caller, Exchange, Outcome } from '../core/exchange.ts'
import { requireKnown } from '../core/known-members.ts'
import { allows } from '../core/scopes.ts'
import { ErrorCode, McpError, RpcError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import type { ServerCapabilities } from '../protocol/capabilities.ts'
import type { Implementation, LoggingLevel } from '../protocol/definitions.ts'
import { type MethodRow, methodRow, type ProtocolVersion, protocolVersions } from '../protocol/methods.ts'
import { listen } from '../server/listen.ts'
import { logOf } from '../server/notices.ts'
import { clipped } from '../server/run.ts'
import type { Server } from '../server/server.ts'
import type { Composition, CompositionOptions } from './composition.ts'
import { Made } from './made.ts'
import { Member } from './members.ts'
import { MergedChanges } from './merged-changes.ts'
import { type MergedList, mergedPage } from './merged-lists.ts'
import { maxNameChars, Prefixes } from './names.ts'
import { Owners } from './owners.ts'
import { reporter, through } from './parts.ts'
import { united } from './united.ts'

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
  readonly #owners: Owners
  readonly #made = new Made()
  readonly #reported = new Set<string>()
  readonly #members = new Map<string, Member>()

  constructor(options: CompositionOptions) {
    const { name, version, title, icons, separator = defaultSeparator, servers } = options
    this.#options = options
    this.info = { name, version, ...(title && { title }), ...(icons && { icons }) }
    this.#prefixes = new Prefixes(separator)
    this.report = reporter(() => name, options.onError)
    this.#owners = new Owners(() => this.#list())
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
