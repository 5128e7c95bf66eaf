import { createHash } from 'node:crypto'
import { McpError, type Prompt, type Resource, type ResourceTemplate, type Tool } from '@jackfield/sdk'
import type { SecretRedactor } from '../config/secrets/redactor.ts'
import { matchesGlob } from '../shared/text.ts'
import type {
  CatalogPrompt,
  CatalogResource,
  CatalogTemplate,
  CatalogTool,
  Host,
  ServerSettings,
  TrustItem,
} from '../types/index.ts'
import type { ServerConnection } from './connections/connection.ts'

/** Why a definition of a server is disabled; undefined if it is enabled. */
export type TrustGate = (
  what: Exclude<TrustItem['what'], 'instructions'>,
  entry: object,
) => string | undefined

/** A definition with its qualified name, and the connection of its server. */
interface Owned<T> {
  entry: T
  connection: ServerConnection
}

/**
 * The qualified names of all servers' definitions, in the configured order of servers. Lists leave out disabled definitions;
 * lookups by name still find them.
 */
export class Catalog {
  readonly #connections: ReadonlyMap<string, ServerConnection>
  readonly #warn: (server: string, message: string) => void
  readonly #gateOf: (connection: ServerConnection) => TrustGate
  readonly #warned = new Set<string>()
  /** The tools by name, with the lists and settings they were computed from. */
  #cached: { sources: readonly object[]; tools: Map<string, Owned<CatalogTool>> } | undefined

  constructor(
    connections: ReadonlyMap<string, ServerConnection>,
    warn: (server: string, message: string) => void,
    gateOf: (connection: ServerConnection) => TrustGate,
  ) {
    this.#connections = connections
    this.#warn = warn
    this.#gateOf = gateOf
  }

  tools(): CatalogTool[] {
    const entries = [...this.#tools().values()].map(({ entry }) => entry)
    return this.#enabled('tool', entries, ({ tool }) => tool)
  }

  prompts(): CatalogPrompt[] {
    const entries = [...this.#prompts().values()].map(({ entry }) => entry)
    return this.#enabled('prompt', entries, ({ prompt }) => prompt)
  }

  resources(): CatalogResource[] {
    const entries = this.#all(({ name: server, lists }) =>
      lists.resources.map((resource) => ({ server, resource })),
    )
    return this.#enabled('resource', entries, ({ resource }) => resource)
  }

  templates(): CatalogTemplate[] {
    const entries = this.#all(({ name: server, lists }) =>
      lists.templates.map((template) => ({ server, template })),
    )
    return this.#enabled('template', entries, ({ template }) => template)
  }

  /** The tool and its connection. Throws an McpError for an unknown name. */
  tool(name: string): Owned<CatalogTool> {
    return this.#tools().get(name) ?? throwUnknown('tool', name)
  }

  prompt(name: string): Owned<CatalogPrompt> {
    return this.#prompts().get(name) ?? throwUnknown('prompt', name)
  }

  server(name: string): ServerConnection {
    return this.#connections.get(name) ?? throwUnknown('server', name)
  }

  #tools(): Map<string, Owned<CatalogTool>> {
    if (this.#cached === undefined || !this.#isBuiltFrom(this.#cached.sources)) {
      const sources = this.#all((connection) => [connection, connection.lists.tools, connection.config])
      const tools = this.#byQualifiedName(
        ({ lists, config }) => lists.tools.filter(({ name }) => isOffered(name, config.tools)),
        (name, tool, { name: server, config }): CatalogTool => ({
          ...{ name, server, tool },
          ...(isAlwaysIncluded(tool.name, config.tools) && { always: true }),
        }),
      )
      this.#cached = { sources, tools }
    }
    return this.#cached.tools
  }

  #isBuiltFrom(sources: readonly object[]): boolean {
    let index = 0
    for (const connection of this.#connections.values()) {
      if (
        sources[index++] !== connection ||
        sources[index++] !== connection.lists.tools ||
        sources[index++] !== connection.config
      )
        return false
    }
    return index === sources.length
  }

  #prompts(): Map<string, Owned<CatalogPrompt>> {
    return this.#byQualifiedName(
      ({ lists }) => lists.prompts,
      (name, prompt, { name: server }): CatalogPrompt => ({ name, server, prompt }),
    )
  }

  /** All definitions of one kind by qualified name; a name claimed by two belongs to neither. */
  #byQualifiedName<T extends { name: string }, E>(
    listOf: (connection: ServerConnection) => readonly T[],
    entryOf: (name: string, item: T, connection: ServerConnection) => E,
  ): Map<string, Owned<E>> {
    const owners = new Map<string, Owned<E>>()
    const clashes = new Set<string>()
    for (const connection of this.#connections.values()) {
      for (const item of listOf(connection)) {
        const name = exposedName(connection.name, item.name)
        if (owners.has(name)) {
          clashes.add(name)
          this.#warnOnce(connection.name, `Two entries are called ${item.name}, so neither is offered`)
        }
        owners.set(name, { connection, entry: entryOf(name, item, connection) })
      }
    }
    for (const name of clashes) owners.delete(name)
    return owners
  }

  #warnOnce(server: string, message: string): void {
    const key = JSON.stringify([server, message])
    if (!this.#warned.has(key)) this.#warn(server, message)
    this.#warned.add(key)
  }

  /** The enabled definitions of one kind, server by server. */
  #enabled<T extends { server: string }>(
    what: Parameters<TrustGate>[0],
    entries: readonly T[],
    definitionOf: (entry: T) => object,
  ): T[] {
    const gates = new Map<string, TrustGate>()
    const gate = (name: string): TrustGate | undefined => {
      const connection = gates.has(name) ? undefined : this.#connections.get(name)
      if (connection !== undefined) gates.set(name, this.#gateOf(connection))
      return gates.get(name)
    }
    return entries.filter((entry) => gate(entry.server)?.(what, definitionOf(entry)) === undefined)
  }

  #all<T>(listOf: (connection: ServerConnection) => readonly T[]): T[] {
    return [...this.#connections.values()].flatMap(listOf)
  }
}

function throwUnknown(kind: string, name: string): never {
  throw new McpError('NOT_FOUND', `There is no ${kind} named ${JSON.stringify(name)} at present`)
}

type Choice = NonNullable<ServerSettings['tools']>

/** Whether the configuration includes this tool of a server, by its own name. */
function isOffered(name: string, { only, without = [] }: Choice = {}): boolean {
  return (only === undefined || matchesAny(only, name)) && !matchesAny(without, name)
}

/** Whether models always get its full definition. */
function isAlwaysIncluded(name: string, { always = [] }: Choice = {}): boolean {
  return matchesAny(always, name)
}

function matchesAny(globs: readonly string[], name: string): boolean {
  return globs.some((glob) => matchesGlob(glob, name))
}

/** Maximum length of a name, as accepted by model providers. */
const maxNameLength = 64
const hashLength = 16
const alphabet = 'abcdefghijklmnopqrstuvwxyz234567'

/** Server names with an unambiguous end: no `__`, no trailing `_`. */
const plainServer = /^[a-zA-Z0-9-]+(?:_[a-zA-Z0-9-]+)*$/
const plainTool = /^[a-zA-Z0-9_-]+$/
const hashInside = new RegExp(`_[${alphabet}]{${hashLength}}_`)

/**
 * The qualified name of a server's tool or prompt. It depends only on the two names, is unique for each pair, and is at most 64
 * characters of `a-z A-Z 0-9 _ -`. Usually it is `server__tool`; if that would be too long or ambiguous, a hash of both names is
 * in the middle.
 */
export function exposedName(server: string, tool: string): string {
  const joined = `${server}__${tool}`
  const isReadable =
    joined.length <= maxNameLength &&
    plainServer.test(server) &&
    plainTool.test(tool) &&
    // A readable name never looks like a hashed one, so the two forms cannot collide.
    !hashInside.test(joined)
  if (isReadable) return joined

  const half = (maxNameLength - hashLength - 2) / 2
  const safe = (text: string): string => text.replace(/[^a-zA-Z0-9_-]/g, '_')
  const fitsWhole = server.length + tool.length <= half * 2
  const head = fitsWhole ? safe(server) : safe(joined).slice(0, half)
  const tail = fitsWhole ? safe(tool) : safe(joined).slice(-half)
  return `${head}_${hashText(server, tool)}_${tail}`
}

/** 80 bits of SHA-256 over both names, in base32. */
function hashText(server: string, tool: string): string {
  const bytes = createHash('sha256')
    .update(JSON.stringify([server, tool]))
    .digest()
  let text = ''
  let bits = 0
  let value = 0
  for (const byte of bytes) {
    value = (value << 8) | byte
    bits += 8
    while (bits >= 5 && text.length < hashLength) {
      bits -= 5
      text += alphabet[(value >> bits) & 31]
    }
    value &= (1 << bits) - 1
  }
  return text
}

type Lists = Pick<Host, 'tools' | 'prompts' | 'resources' | 'templates'>

/** Definitions with secrets redacted. */
export interface ShownCatalog extends Lists {
  /** The original name of a redacted one. */
  nameOf(safe: string): string
  /** The original URI of a redacted one. */
  uriOf(server: string, safe: string): string
}

/**
 * Redacts secrets from the definitions in a catalog. Each is prepared once, and again when a secret is added. A redacted name or
 * URI can be resolved to the original.
 */
export function createShownCatalog(catalog: () => Lists, redactor: SecretRedactor): ShownCatalog {
  const names = new Map<string, string>()
  /** By server, the marks of secrets in its URIs. */
  const marksByServer = new Map<string, Map<string, string>>()

  const toolOf = cachedRedaction<Tool>(redactor)
  const promptOf = cachedRedaction<Prompt>(redactor)
  const resourceOf = cachedRedaction<Resource>(redactor)
  const templateOf = cachedRedaction<ResourceTemplate>(redactor)

  const nameFor = (entry: { server: string; name: string }, original: string, shown: string): string => {
    if (shown === original) return entry.name
    const name = exposedName(entry.server, shown)
    names.set(name, entry.name)
    return name
  }

  const recordMarks = (server: string, address: string, shown: string): void => {
    if (shown === address) return
    for (const piece of redactor.pieces(address)) {
      if (typeof piece === 'string') continue
      const marks = marksByServer.get(server) ?? new Map<string, string>()
      marksByServer.set(server, marks.set(`[${piece.name}]`, piece.text))
    }
  }

  return {
    tools: () =>
      catalog()
        .tools()
        .map((entry) => {
          const tool = toolOf(entry.tool)
          if (tool === entry.tool) return entry
          return { ...entry, name: nameFor(entry, entry.tool.name, tool.name), tool }
        }),
    prompts: () =>
      catalog()
        .prompts()
        .map((entry) => {
          const prompt = promptOf(entry.prompt)
          if (prompt === entry.prompt) return entry
          return { ...entry, name: nameFor(entry, entry.prompt.name, prompt.name), prompt }
        }),
    resources: () =>
      catalog()
        .resources()
        .map((entry) => {
          const resource = resourceOf(entry.resource)
          recordMarks(entry.server, entry.resource.uri, resource.uri)
          return resource === entry.resource ? entry : { ...entry, resource }
        }),
    templates: () =>
      catalog()
        .templates()
        .map((entry) => {
          const template = templateOf(entry.template)
          recordMarks(entry.server, entry.template.uriTemplate, template.uriTemplate)
          return template === entry.template ? entry : { ...entry, template }
        }),
    nameOf: (shownName) => names.get(shownName) ?? shownName,
    uriOf: (server, shownName) => {
      let address = shownName
      for (const [mark, text] of marksByServer.get(server) ?? [])
        address = address.replaceAll(mark, () => text)
      return address
    },
  }
}

/** Redacts definitions of one kind, each once until a secret is added. */
function cachedRedaction<T extends object>(redactor: SecretRedactor): (thing: T) => T {
  let prepared = new WeakMap<T, T>()
  let version = 0
  return (thing) => {
    if (redactor.version !== version) {
      prepared = new WeakMap()
      version = redactor.version
    }
    const known = prepared.get(thing)
    if (known !== undefined) return known
    const redacted = redactor.value(thing)
    prepared.set(thing, redacted)
    return redacted
  }
}
