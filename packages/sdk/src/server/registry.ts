import { cacheJson } from '../jsonrpc/cached-json.ts'
import { invalid } from '../jsonrpc/error.ts'
import { isObject } from '../jsonrpc/parse.ts'
import type { Prompt, Resource, ResourceTemplate, Tool } from '../protocol/definitions.ts'
import type { HeaderPlan } from '../protocol/headers.ts'
import type { Exchange, Outcome } from '../request/exchange.ts'
import type { Completer, Context } from './context.ts'
import type { Takeover } from './definitions.ts'
import { promptEntry } from './prompt.ts'
import { resourceEntry, templateEntry } from './resource.ts'
import type { PreparedSchema } from './schema.ts'
import type { Definitions } from './server.ts'
import { toolEntry } from './tool.ts'
import type { UriTemplate } from './uri-template.ts'

/** The lists of definitions. */
export const listNames = ['tools', 'resources', 'prompts'] as const
export type ListName = (typeof listNames)[number]

/** Names of definitions, by list. */
type Names = { [L in ListName]?: string[] }

/** The rows of the lists, cached until the next change. */
interface Rows {
  readonly tools: readonly Tool[]
  readonly resources: readonly Resource[]
  readonly templates: readonly ResourceTemplate[]
  readonly prompts: readonly Prompt[]
}

/** The definitions of a server by name, in maps, which have no inherited names. */
export class Registry {
  readonly tools: Map<string, ToolEntry> = new Map()
  readonly resources: Map<string, ResourceEntry> = new Map()
  readonly templates: Map<string, TemplateEntry> = new Map()
  readonly prompts: Map<string, PromptEntry> = new Map()
  /** The lists this server has, empty ones included. */
  readonly offered: Set<ListName> = new Set()
  /** All scopes that definitions require. */
  scopes: readonly string[] = []
  #byUri: ReadonlyMap<string, ResourceEntry> = new Map()
  #byTemplate: ReadonlyMap<string, TemplateEntry> = new Map()
  #rows: Rows | undefined

  /**
   * Adds or replaces definitions, all or none, and returns the lists that changed.
   * @throws McpError 'INVALID' for a definition that cannot be served
   */
  add(definitions: Definitions): ListName[] {
    const { tools = {}, resources = {}, prompts = {} } = definitions
    const newTools = Object.entries(tools).map(([name, value]) => {
      requireKind('tool', name, value)
      return toolEntry(name, value)
    })
    const newPrompts = Object.entries(prompts).map(([name, value]) => {
      requireKind('prompt', name, value)
      return promptEntry(name, value)
    })
    const newResources: ResourceEntry[] = []
    const newTemplates: TemplateEntry[] = []
    for (const [name, value] of Object.entries(resources)) {
      if (value.kind === 'template') newTemplates.push(templateEntry(name, value))
      else {
        requireKind('resource', name, value)
        newResources.push(resourceEntry(name, value))
      }
    }
    this.#refuseSameAddress(newResources, newTemplates)

    for (const entry of newTools) this.tools.set(entry.name, entry)
    for (const entry of newPrompts) this.prompts.set(entry.name, entry)
    for (const entry of newResources) {
      this.templates.delete(entry.name)
      this.resources.set(entry.name, entry)
    }
    for (const entry of newTemplates) {
      this.resources.delete(entry.name)
      this.templates.set(entry.name, entry)
    }
    const given = listNames.filter((list) => definitions[list] !== undefined)
    for (const list of given) this.offered.add(list)
    this.#changed()
    return given.filter((list) => Object.keys(definitions[list] ?? {}).length > 0)
  }

  /** Removes definitions and returns the lists that changed. Unknown names are ignored. */
  remove(names: Names): ListName[] {
    const removed = {
      tools: (names.tools ?? []).filter((name) => this.tools.delete(name)),
      prompts: (names.prompts ?? []).filter((name) => this.prompts.delete(name)),
      resources: (names.resources ?? []).filter(
        (name) => this.resources.delete(name) || this.templates.delete(name),
      ),
    }
    this.#changed()
    return listNames.filter((list) => removed[list].length > 0)
  }

  resourceAt(uri: string): ResourceEntry | undefined {
    return this.#byUri.get(uri)
  }

  templateOf(uriTemplate: string): TemplateEntry | undefined {
    return this.#byTemplate.get(uriTemplate)
  }

  /** Whether some argument can be completed. */
  get completes(): boolean {
    return [...this.prompts.values(), ...this.templates.values()].some(
      ({ completers }) => completers.size > 0,
    )
  }

  /** Whether a list depends on the caller's scopes. */
  isScoped(list: keyof Rows): boolean {
    return this.scopes.length > 0 && [...this[list].values()].some(({ scopes }) => scopes.length > 0)
  }

  get rows(): Rows {
    this.#rows ??= {
      tools: cacheJson(Array.from(this.tools.values(), ({ listed }) => listed)),
      resources: cacheJson(Array.from(this.resources.values(), ({ listed }) => listed)),
      templates: cacheJson(Array.from(this.templates.values(), ({ listed }) => listed)),
      prompts: cacheJson(Array.from(this.prompts.values(), ({ listed }) => listed)),
    }
    return this.#rows
  }

  #changed(): void {
    this.#rows = undefined
    const entries = [this.tools, this.resources, this.templates, this.prompts].flatMap((all) => [
      ...all.values(),
    ])
    this.scopes = [...new Set(entries.flatMap(({ scopes }) => scopes))]
    this.#byUri = new Map(Array.from(this.resources.values(), (entry) => [entry.listed.uri, entry]))
    this.#byTemplate = new Map(
      Array.from(this.templates.values(), (entry) => [entry.listed.uriTemplate, entry]),
    )
  }

  /** Rejects two definitions with the same URI or template, of which one could never be read. */
  #refuseSameAddress(resources: readonly ResourceEntry[], templates: readonly TemplateEntry[]): void {
    const replaced = new Set([...resources, ...templates].map(({ name }) => name))
    const otherResources = [...this.resources.values()].filter(({ name }) => !replaced.has(name))
    const otherTemplates = [...this.templates.values()].filter(({ name }) => !replaced.has(name))
    const places = new Map<string, string>()
    const addresses = [
      ...[...otherResources, ...resources].map(({ name, listed }) => [name, listed.uri] as const),
      ...[...otherTemplates, ...templates].map(({ name, listed }) => [name, listed.uriTemplate] as const),
    ]
    for (const [name, address] of addresses) {
      const other = places.get(address)
      if (other !== undefined) {
        throw invalid(`Resources "${other}" and "${name}" have the same URI, ${address}`)
      }
      places.set(address, name)
    }
  }
}

/** @throws McpError 'INVALID' for a definition that the function of its kind did not make */
function requireKind(kind: string, name: string, value: unknown): void {
  if (isObject(value) && value['kind'] === kind) return
  throw invalid(`"${name}" was not made by ${kind}(): define it with ${kind}({ … })`)
}

/** A tool, prepared for serving. */
export interface ToolEntry {
  readonly name: string
  readonly scopes: readonly string[]
  readonly input: PreparedSchema | undefined
  readonly output: PreparedSchema | undefined
  readonly handler: { run(args: unknown, ctx: Context): unknown }
  /** Whether a call of it runs as a task. */
  readonly task: 'optional' | 'required' | undefined
  readonly takeover: Takeover
  /** Its row in `tools/list`. */
  readonly listed: Tool
  /** The arguments that are mirrored into HTTP headers; undefined if there are none. */
  readonly headers: HeaderPlan | undefined
}

export interface ResourceEntry {
  readonly name: string
  readonly scopes: readonly string[]
  readonly serve: (exchange: Exchange) => Promise<Outcome>
  readonly listed: Resource
}

export interface TemplateEntry {
  readonly name: string
  readonly scopes: readonly string[]
  readonly template: UriTemplate
  /** Serves a read of one of its resources; undefined for a URI that does not match. */
  readonly serve: (exchange: Exchange, uri: string) => Promise<Outcome> | undefined
  readonly list: ((ctx: Context) => Resource[] | Promise<Resource[]>) | undefined
  readonly completers: ReadonlyMap<string, Completer>
  readonly listed: ResourceTemplate
}

export interface PromptEntry {
  readonly name: string
  readonly scopes: readonly string[]
  readonly input: PreparedSchema | undefined
  readonly handler: { run(args: unknown, ctx: Context): unknown }
  readonly completers: ReadonlyMap<string, Completer>
  readonly listed: Prompt
}
