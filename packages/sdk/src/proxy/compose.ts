import {
  clipped,
  ErrorCode,
  invalid,
  invalidParams,
  kindOf,
  methodNotFound,
  RpcError,
} from '../jsonrpc/error.ts'
import { isObject } from '../jsonrpc/parse.ts'
import type { Implementation, ServerCapabilities } from '../protocol/definitions.ts'
import { type MethodRow, methodRow, type ProtocolVersion } from '../protocol/methods.ts'
import type { Changes } from '../request/changes.ts'
import { allows, type Caller, type Exchange, type Outcome } from '../request/exchange.ts'
import { requireKnown } from '../request/object-members.ts'
import type { Takeover } from '../server/definitions.ts'
import { applyMiddleware } from '../server/handlers.ts'
import type { Middleware, Server } from '../server/server.ts'
import { listen } from '../server/subscriptions.ts'
import { ForwardingServer } from './forwarding-server.ts'
import { ExtensionOwners, Member, ResourceRouter } from './members.ts'
import { MergedChanges, type MergedList, mergedPage } from './merged.ts'

const maxNameChars = 128

const prefixForm = /^[A-Za-z0-9_.-]{1,64}$/
const separatorForm = /^[A-Za-z0-9_.-]{1,8}$/

/**
 * Names in a composition: a member's prefix, the separator, the member's own name. A prefix can neither contain the separator
 * nor overlap with it, so names split at its first occurrence and never collide.
 */
export class Prefixes {
  readonly separator: string

  /** @throws McpError 'INVALID' for a separator that is not allowed in tool names */
  constructor(separator: string) {
    if (!separatorForm.test(separator)) {
      throw invalid(`The separator "${separator}" must be 1 to 8 of A-Z a-z 0-9 _ - .`)
    }
    this.separator = separator
  }

  /** @throws McpError 'INVALID' for a prefix that would make names ambiguous */
  check(prefix: string): void {
    if (!prefixForm.test(prefix)) {
      throw invalid(
        `"${prefix}" cannot be a prefix: use 1 to 64 of A-Z a-z 0-9 _ - . as the key of this server`,
      )
    }
    if (`${prefix}${this.separator}`.indexOf(this.separator) === prefix.length) return
    throw invalid(
      `"${prefix}" cannot be a prefix with the separator "${this.separator}": names of two servers could become one. ` +
        'Choose a prefix that neither contains the separator nor ends with its beginning, or another separator.',
    )
  }

  join(prefix: string, name: string): string {
    return `${prefix}${this.separator}${name}`
  }

  /** The prefix and the member's own name; undefined for a name without the separator. */
  split(name: string): { readonly prefix: string; readonly name: string } | undefined {
    const at = name.indexOf(this.separator)
    if (at === -1) return undefined
    return { prefix: name.slice(0, at), name: name.slice(at + this.separator.length) }
  }
}

/** The union of several servers' capabilities. For conflicting settings the first server wins. */
function mergeCapabilities(all: readonly ServerCapabilities[]): ServerCapabilities {
  const result = new Map<string, object>()
  for (const capabilities of all) {
    for (const [name, value] of Object.entries(capabilities)) {
      if (value !== undefined) result.set(name, mergeSettings(result.get(name) ?? {}, value))
    }
  }
  return Object.fromEntries(result)
}

/** Merges the settings of one capability: a flag is set if either has it. */
function mergeSettings(first: object, second: object): object {
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
 * Mounts servers under prefixes and serves them as one. Tools and prompts become `prefix__name`; resources keep their URIs
 * and are routed to their owner. Members can be mounted and unmounted while it is served.
 * @throws McpError 'INVALID' for an invalid prefix or separator
 */
export function compose(options: CompositionOptions): Composition {
  requireKnown('The options object of compose', options, optionNames)
  if (!isObject(options.servers)) {
    throw invalid(
      `"servers" of compose must be an object of servers by prefix, not ${kindOf(options.servers)}`,
    )
  }
  return new ComposedServer(options)
}

class ComposedServer extends ForwardingServer implements Composition {
  readonly info: Implementation
  readonly changes: Changes
  readonly handle: Server['handle']
  readonly #options: CompositionOptions
  readonly #prefixes: Prefixes
  readonly #changesOfAll: MergedChanges
  readonly #resources: ResourceRouter
  readonly #extensionOwners = new ExtensionOwners()
  readonly #reported = new Set<string>()
  readonly #members = new Map<string, Member>()

  constructor(options: CompositionOptions) {
    super(options.onError)
    const { name, version, title, icons, separator = defaultSeparator, servers } = options
    this.#options = options
    this.info = { name, version, ...(title && { title }), ...(icons && { icons }) }
    this.#prefixes = new Prefixes(separator)
    this.#resources = new ResourceRouter(() => this.#all())
    this.#changesOfAll = new MergedChanges({
      members: () => this.#members.values(),
      ownersOf: (uri, subscriber) => this.#resources.ownersOf(subscriber, uri),
      onChange: ({ resources }, change) => {
        if (change.type === 'resources' || change.type === 'anything') resources.clear()
      },
    })
    this.changes = this.#changesOfAll
    for (const [prefix, server] of Object.entries(servers)) this.#add(prefix, server)
    this.handle = applyMiddleware(options.use ?? [], (exchange) => this.#serve(exchange))
  }

  get instructions(): string | undefined {
    const own = this.#options.instructions
    const parts = this.#all().flatMap(({ prefix, server }) =>
      server.instructions === undefined
        ? []
        : [
            `# ${prefix}\n\nTools and prompts of this server begin with \`${this.#prefixes.join(prefix, '')}\`.\n\n${server.instructions}`,
          ],
    )
    const all = own === undefined ? parts : [own, ...parts]
    return all.length === 0 ? undefined : all.join('\n\n')
  }

  get capabilities(): ServerCapabilities {
    return mergeCapabilities(this.#all().map(({ server }) => server.capabilities))
  }

  capabilitiesOn(version: ProtocolVersion, caller?: Caller): ServerCapabilities {
    return mergeCapabilities(this.#all().map(({ server }) => server.capabilitiesOn(version, caller)))
  }

  method(name: string, version: ProtocolVersion): MethodRow | undefined {
    return methodRow(name, version) ?? this.#supporting(name, version)[0]?.server.method(name, version)
  }

  headerPlan(tool: string): ReturnType<Server['headerPlan']> {
    const { member, name } = this.#resolve(tool) ?? {}
    return name === undefined ? undefined : member?.server.headerPlan(name)
  }

  taskSupport(tool: string): ReturnType<Server['taskSupport']> {
    const { member, name } = this.#resolve(tool) ?? {}
    return name === undefined ? undefined : member?.server.taskSupport(name)
  }

  takeover(tool: string): Takeover {
    const { member, name } = this.#resolve(tool) ?? {}
    return (name === undefined ? undefined : member?.server.takeover(name)) ?? 'never'
  }

  get memoryOnly(): readonly string[] {
    return [...new Set(this.#all().flatMap(({ server }) => server.memoryOnly ?? []))]
  }

  get scopes(): readonly string[] {
    return [...new Set(this.#all().flatMap(({ server }) => server.scopes))]
  }

  scopesFor(...[method, params, uriChars]: Parameters<Server['scopesFor']>): readonly string[] {
    const { name, ref } = params ?? {}
    // A request may have other params than its method defines: only those that determine its target count.
    const reference = method === 'completion/complete' && isObject(ref) ? ref : undefined
    const hasUri = method.startsWith('resources/') || reference?.['type'] === 'ref/resource'
    const named = hasUri ? undefined : reference === undefined ? name : reference['name']
    if (typeof named === 'string') {
      const target = this.#resolve(named)
      if (target === undefined) return []
      const own =
        reference === undefined ? { name: target.name } : { ref: { ...reference, name: target.name } }
      return target.member.server.scopesFor(method, { ...params, ...own }, uriChars)
    }
    // Finding the owner of a URI would need requests, so the scopes of all members are required.
    return [...new Set(this.#all().flatMap(({ server }) => server.scopesFor(method, params, uriChars)))]
  }

  add(): void {
    throw invalid('A composition has no definitions: add to one of its servers, or mount another one')
  }

  remove(): void {
    throw invalid('A composition has no definitions: remove from one of its servers')
  }

  mount(prefix: string, server: Server): void {
    this.#add(prefix, server)
    this.#publishListChanges(server)
  }

  unmount(prefix: string): void {
    const member = this.#members.get(prefix)
    if (member === undefined) return
    this.#members.delete(prefix)
    this.#publishListChanges(member.server)
  }

  #all(): readonly Member[] {
    return [...this.#members.values()]
  }

  #add(prefix: string, server: Server): void {
    this.#prefixes.check(prefix)
    if (server === this) throw invalid('A composition cannot contain itself')
    this.#members.set(prefix, new Member(prefix, server))
  }

  #publishListChanges({ capabilities }: Server): void {
    this.#changesOfAll.refresh()
    for (const type of ['tools', 'prompts', 'resources'] as const) {
      if (capabilities[type] !== undefined) this.changes.publish({ type })
    }
  }

  /** The member a name belongs to, and its name there. */
  #resolve(name: string): { member: Member; name: string } | undefined {
    if (name.length > maxNameChars) return undefined
    const parts = this.#prefixes.split(name)
    const member = parts && this.#members.get(parts.prefix)
    return parts && member && { member, name: parts.name }
  }

  /** The members that support an extension method. */
  #supporting(method: string, version: ProtocolVersion): readonly Member[] {
    return this.#all().filter(({ server }) => server.method(method, version) !== undefined)
  }

  async #serve(exchange: Exchange): Promise<Outcome> {
    const { method, params, peer, limits } = exchange
    switch (method) {
      case 'server/discover':
        return this.discover(exchange)
      case 'subscriptions/listen':
        return listen(this.changes, this.capabilities, exchange, (uri) =>
          allows(peer, this.scopesFor('resources/subscribe', { uri }, limits.uriChars)),
        )
      case 'tools/list':
        return this.#page(exchange, this.#namedList('tools', method))
      case 'prompts/list':
        return this.#page(exchange, this.#namedList('prompts', method))
      case 'resources/list':
        return this.#page(exchange, this.#uriList('resources', 'uri', exchange))
      case 'resources/templates/list':
        return this.#page(exchange, this.#uriList('resourceTemplates', 'uriTemplate', exchange))
      case 'tools/call':
        return this.#call(exchange, 'tool')
      case 'prompts/get':
        return this.#call(exchange, 'prompt')
      case 'resources/read':
        if (typeof params['uri'] !== 'string') throw invalidParams('"uri" must be a string')
        if (params['uri'].length > limits.uriChars) {
          throw invalidParams(`"uri" must have at most ${limits.uriChars} characters`)
        }
        return this.#resources.read(exchange, params['uri'])
      case 'completion/complete':
        return this.#complete(exchange)
      default:
        return this.#extension(exchange, this.#supporting(method, peer.revision.version))
    }
  }

  async #page(exchange: Exchange, list: MergedList): Promise<Outcome> {
    if (this.capabilities[list.capability] === undefined) throw methodNotFound(exchange.method)
    return mergedPage(exchange, list, {
      members: this.#all(),
      pageSize: this.#options.pageSize ?? defaultPageSize,
      onFailure: ({ prefix }, error) => this.report(error, { method: exchange.method, name: prefix }),
    })
  }

  #namedList(capability: 'tools' | 'prompts', method: string): MergedList {
    return {
      key: capability,
      capability,
      present: (entry, { prefix }) => {
        if (typeof entry['name'] !== 'string') return undefined
        const name = this.#prefixes.join(prefix, entry['name'])
        const { inputSchema } = entry
        if (capability === 'tools' && (!isObject(inputSchema) || inputSchema['type'] !== 'object')) {
          const reason = `"${clipped(entry['name'])}" of "${prefix}" cannot be offered: its "inputSchema" does not have the type "object", and clients may reject the whole list for it.`
          this.#reportOnce(reason, method, name)
          return undefined
        }
        if (name.length <= maxNameChars) return { ...entry, name }
        const reason = `"${clipped(entry['name'])}" of "${prefix}" cannot be offered: with its prefix it has more than ${maxNameChars} characters. Mount it under a shorter prefix.`
        this.#reportOnce(reason, method, name)
        return undefined
      },
    }
  }

  #uriList(
    column: 'resources' | 'resourceTemplates',
    key: 'uri' | 'uriTemplate',
    exchange: Exchange,
  ): MergedList {
    return {
      key: column,
      capability: 'resources',
      beforeMember: (member) => this.#resources.readBefore(exchange, member),
      onPage: ({ resources }, page) => resources.addPage(page),
      present: (entry, member) => {
        const uri = entry[key]
        if (typeof uri !== 'string') return undefined
        const isDuplicate = this.#resources.isTaken(member, ({ resources }) =>
          key === 'uri' ? resources.lists(uri) : resources.hasTemplate(uri),
        )
        if (!isDuplicate) return entry
        const reason = `"${member.prefix}" lists ${clipped(uri)}, which a server mounted before it lists too: the first one is the owner. Change one of the URIs.`
        this.#reportOnce(reason, exchange.method, uri)
        return undefined
      },
    }
  }

  async #call(exchange: Exchange, kind: 'tool' | 'prompt'): Promise<Outcome> {
    const { name } = exchange.params
    if (typeof name !== 'string') throw invalidParams('"name" must be a string')
    const target = this.#resolve(name)
    if (target === undefined) throw new RpcError(ErrorCode.InvalidParams, `Unknown ${kind}: ${clipped(name)}`)
    const { member } = target
    const own = member.exchange(exchange, { ...exchange.params, name: target.name }, name)
    const outcome = await member.server.handle(own)
    this.#extensionOwners.record(member, outcome)
    return outcome
  }

  async #complete(exchange: Exchange): Promise<Outcome> {
    const { ref } = exchange.params
    const { type, name, uri } = isObject(ref) ? ref : {}
    if (type === 'ref/prompt' && typeof name === 'string') {
      const target = this.#resolve(name)
      if (target === undefined) throw invalidParams(`unknown prompt "${clipped(name)}"`)
      const { member } = target
      const own = { ...exchange.params, ref: { type, name: target.name } }
      return member.server.handle(member.exchange(exchange, own))
    }
    if (type !== 'ref/resource' || typeof uri !== 'string') {
      throw invalidParams('"ref" must be a ref/prompt with a "name" or a ref/resource with a "uri"')
    }
    const member = await this.#resources.ownerOfReference(exchange, uri)
    if (member === undefined) throw invalidParams(`unknown resource template "${clipped(uri)}"`)
    return member.server.handle(member.exchange(exchange, exchange.params))
  }

  /** Sends an extension request to the owner of its object, or else to each member until one accepts it. */
  async #extension(exchange: Exchange, members: readonly Member[]): Promise<Outcome> {
    const { method, params, peer } = exchange
    const owner = this.#extensionOwners.ownerOf(params, this.method(method, peer.revision.version)?.named)
    let failure: unknown = methodNotFound(method)
    for (const member of owner !== undefined && members.includes(owner) ? [owner] : members) {
      try {
        return await member.server.handle(member.exchange(exchange, params))
      } catch (error) {
        if (!(error instanceof RpcError) || error.code !== ErrorCode.InvalidParams) throw error
        failure = error
      }
    }
    throw failure
  }

  /** Reports a problem once, not with every list. */
  #reportOnce(reason: string, method: string, name: string): void {
    if (this.#reported.has(reason) || this.#reported.size >= maxReported) return
    this.#reported.add(reason)
    this.report(invalid(reason), { method, name })
  }
}

/** Options of a composition. */
export interface CompositionOptions {
  /** Name of the server for programs. */
  name: string
  /** Version of the server. */
  version: string
  /** Name for people. Default: `name`. */
  title?: string
  /** Precedes the members' instructions. */
  instructions?: string
  /** Icons to display. Default: none. */
  icons?: Implementation['icons']
  /** The members by prefix. If two list the same resource, the first is its owner; the duplicate is reported and left out. */
  servers: Readonly<Record<string, Server>>
  /** Between prefix and name, as in `travel__book`. Default `__`. */
  separator?: string
  /** Entries per page of a list, approximately. Default 1000. */
  pageSize?: number
  /** Wraps the handling of every request, outermost first. */
  use?: readonly Middleware[]
  /** Called for definitions that cannot be offered and for failing members. Default: logs to stderr. */
  onError?: (error: unknown, where: { method: string; name?: string }) => void
}

/** Several servers served as one, made by `compose`. Its members can change while it is served. */
export interface Composition extends Server {
  /** Adds or replaces a member and notifies subscribers. @throws McpError 'INVALID' */
  mount(prefix: string, server: Server): void
  /** Removes a member and notifies subscribers. No effect for an unknown prefix. */
  unmount(prefix: string): void
}
