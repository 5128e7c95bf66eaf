import { isScope } from '../core/scopes.ts'
import { McpError } from '../jsonrpc/error.ts'
import { isObject } from '../jsonrpc/parse.ts'
import type { Icon } from '../protocol/content.ts'
import type {
  CacheHints,
  JsonSchema,
  Prompt,
  PromptArgument,
  Resource,
  ResourceTemplate,
  Tool,
} from '../protocol/definitions.ts'
import { type HeaderPlan, headerPlan } from '../protocol/headers.ts'
import { isSafeIcon } from '../protocol/icons.ts'
import type { Completer, Context } from './context.ts'
import { type AnySchema, type Prepared, prepare } from './schema.ts'
import type { AnyPrompt, AnyTemplate, AnyTool, ResourceValue } from './server.ts'
import { parseTemplate, type UriTemplate } from './uri-template.ts'

/** A tool ready to be listed and called. */
export interface ToolEntry {
  readonly name: string
  /** What a caller needs to see and use it. */
  readonly scopes: readonly string[]
  readonly input: Prepared | undefined
  readonly output: Prepared | undefined
  readonly run: (args: unknown, ctx: Context) => unknown
  /** Whether a call of it runs as a task. */
  readonly task: 'optional' | 'required' | undefined
  /** Its row in `tools/list`. */
  readonly listed: Tool
  /** Its mirrored arguments; undefined when there are none. */
  readonly headers: HeaderPlan | undefined
}

/** A resource ready to be listed and read. */
export interface ResourceEntry {
  readonly name: string
  readonly scopes: readonly string[]
  readonly mimeType: string | undefined
  readonly cache: Partial<CacheHints> | undefined
  readonly read: (ctx: Context) => unknown
  readonly listed: Resource
}

/** A template ready to be listed, matched and read. */
export interface TemplateEntry {
  readonly name: string
  readonly scopes: readonly string[]
  readonly mimeType: string | undefined
  readonly cache: Partial<CacheHints> | undefined
  readonly template: UriTemplate
  readonly read: (variables: Record<string, string | string[]>, ctx: Context, uri: string) => unknown
  readonly members: ((ctx: Context) => Resource[] | Promise<Resource[]>) | undefined
  readonly completers: ReadonlyMap<string, Completer>
  readonly listed: ResourceTemplate
}

/** A prompt ready to be listed and run. */
export interface PromptEntry {
  readonly name: string
  readonly scopes: readonly string[]
  readonly input: Prepared | undefined
  readonly run: (args: unknown, ctx: Context) => unknown
  readonly completers: ReadonlyMap<string, Completer>
  readonly listed: Prompt
}

const toolName = /^[A-Za-z0-9_.-]{1,128}$/

export function toolEntry(name: string, value: AnyTool): ToolEntry {
  const what = `Tool "${name}"`
  if (!toolName.test(name)) {
    throw invalid(`"${name}" cannot be a tool's name: use 1 to 128 of A-Z a-z 0-9 _ - .`)
  }
  const input = value.input === undefined ? undefined : ready(what, value.input, 'input')
  const output = value.output === undefined ? undefined : ready(what, value.output, 'output')
  const inputSchema = input === undefined ? noArguments : objectSchema(what, input.json)
  const headers = attempt(what, 'input', () => headerPlan(inputSchema))
  // Declared as a method, so that what the handler takes is compared both ways: it was checked against `input`.
  const handler: { run(args: unknown, ctx: Context): unknown } = value
  return {
    name,
    scopes: scopesOf(what, value.scopes),
    input,
    output,
    run: (args, ctx) => handler.run(args, ctx),
    task: value.task,
    listed: {
      name,
      ...shown(what, value),
      inputSchema,
      ...(output === undefined ? {} : { outputSchema: output.json }),
      ...(value.annotations === undefined ? {} : { annotations: value.annotations }),
    },
    headers: headers.length === 0 ? undefined : headers,
  }
}

const noArguments: Tool['inputSchema'] = { type: 'object', additionalProperties: false }

export function resourceEntry(name: string, value: ResourceValue): ResourceEntry {
  const what = `Resource "${name}"`
  const { uri, mimeType, annotations, size, cache } = value
  if (!URL.canParse(uri)) throw invalid(`${what} needs an absolute URI, not "${uri}"`)
  requireHints(what, cache)
  return {
    name,
    scopes: scopesOf(what, value.scopes),
    mimeType,
    cache,
    read: (ctx) => value.read(ctx),
    listed: {
      uri,
      name,
      ...shown(what, value),
      ...(mimeType === undefined ? {} : { mimeType }),
      ...(annotations === undefined ? {} : { annotations }),
      ...(size === undefined ? {} : { size }),
    },
  }
}

export function templateEntry(name: string, value: AnyTemplate): TemplateEntry {
  const what = `Template "${name}"`
  const { uriTemplate, mimeType, annotations, cache, list } = value
  const template = attempt(what, 'uriTemplate', () => parseTemplate(uriTemplate))
  requireHints(what, cache)
  // Declared as a method: the variables come from the very template their type comes from.
  const handler: {
    read(variables: Record<string, string | string[]>, ctx: Context, uri: string): unknown
  } = value
  return {
    name,
    scopes: scopesOf(what, value.scopes),
    mimeType,
    cache,
    template,
    read: (variables, ctx, uri) => handler.read(variables, ctx, uri),
    members: list === undefined ? undefined : (ctx) => list.call(value, ctx),
    completers: completersOf(what, value.complete, template.names),
    listed: {
      uriTemplate,
      name,
      ...shown(what, value),
      ...(mimeType === undefined ? {} : { mimeType }),
      ...(annotations === undefined ? {} : { annotations }),
    },
  }
}

export function promptEntry(name: string, value: AnyPrompt): PromptEntry {
  const what = `Prompt "${name}"`
  const input = value.input === undefined ? undefined : ready(what, value.input, 'input')
  const list = input === undefined ? undefined : argumentsOf(objectSchema(what, input.json))
  // Declared as a method: the arguments were checked against `input`, where the handler's own type comes from.
  const handler: { run(args: unknown, ctx: Context): unknown } = value
  return {
    name,
    scopes: scopesOf(what, value.scopes),
    input,
    run: (args, ctx) => handler.run(args, ctx),
    completers: completersOf(what, value.complete, list?.map((argument) => argument.name) ?? []),
    listed: { name, ...shown(what, value), ...(list === undefined ? {} : { arguments: list }) },
  }
}

/** Checks hints about freshness. @throws McpError 'INVALID' */
export function requireHints(what: string, hints: Partial<CacheHints> | undefined): void {
  const { ttlMs = 0, cacheScope = 'private' } = hints ?? {}
  if (!Number.isSafeInteger(ttlMs) || ttlMs < 0) {
    throw invalid(`${what} has a "ttlMs" that is no whole number of milliseconds from 0: ${ttlMs}`)
  }
  if (cacheScope !== 'public' && cacheScope !== 'private') {
    throw invalid(`${what} has a "cacheScope" that is neither public nor private`)
  }
}

/** Checks icons. @throws McpError 'INVALID' for one that is neither `https:` nor `data:` */
export function requireIcons(what: string, icons: readonly Icon[] | undefined): void {
  const unsafe = icons?.find((icon) => !isSafeIcon(icon))
  if (unsafe !== undefined)
    throw invalid(`${what} has an icon that is neither https: nor data: (${unsafe.src})`)
}

function scopesOf(what: string, scopes: readonly string[] = []): readonly string[] {
  const wrong = scopes.find((scope) => !isScope(scope))
  if (wrong !== undefined) throw invalid(`${what} needs "${wrong}", which cannot be the name of a scope`)
  return [...new Set(scopes)]
}

function shown(
  what: string,
  value: { title?: string; description?: string; icons?: Icon[]; meta?: Record<string, unknown> },
): Pick<Tool, 'title' | 'description' | 'icons' | '_meta'> {
  const { title, description, icons, meta } = value
  requireIcons(what, icons)
  return {
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(icons === undefined ? {} : { icons }),
    ...(meta === undefined ? {} : { _meta: meta }),
  }
}

function ready(what: string, schema: AnySchema, side: 'input' | 'output'): Prepared {
  return attempt(what, side, () => prepare(schema, side))
}

function attempt<T>(what: string, member: string, make: () => T): T {
  try {
    return make()
  } catch (error) {
    if (!(error instanceof McpError)) throw error
    throw new McpError('INVALID', `${what}: ${member}: ${error.message}`, { cause: error })
  }
}

/** Arguments are always an object, so a schema need not say so; one that says otherwise could never be satisfied. */
function objectSchema(what: string, json: JsonSchema): Tool['inputSchema'] {
  if (!mayBeObject(json, 0)) throw invalid(`${what} needs an object schema as its input`)
  return { ...json, type: 'object' }
}

function mayBeObject(schema: unknown, depth: number): boolean {
  if (!isObject(schema) || depth > 8) return schema !== false
  const { type, anyOf, oneOf, allOf } = schema
  if (type !== undefined) return type === 'object'
  const some = (options: unknown): boolean =>
    !Array.isArray(options) || options.some((option) => mayBeObject(option, depth + 1))
  const all = !Array.isArray(allOf) || allOf.every((part) => mayBeObject(part, depth + 1))
  return some(anyOf) && some(oneOf) && all
}

function argumentsOf({ properties, required }: Record<string, unknown>): PromptArgument[] {
  const needed = Array.isArray(required) ? required : []
  return Object.entries(isObject(properties) ? properties : {}).map(([name, schema]) => {
    const { title, description } = isObject(schema) ? schema : {}
    return {
      name,
      ...(typeof title === 'string' ? { title } : {}),
      ...(typeof description === 'string' ? { description } : {}),
      ...(needed.includes(name) ? { required: true } : {}),
    }
  })
}

function completersOf(
  what: string,
  complete: object | undefined,
  names: readonly string[],
): ReadonlyMap<string, Completer> {
  const completers = new Map<string, Completer>()
  for (const [name, completer] of Object.entries(complete ?? {})) {
    if (!names.includes(name)) throw invalid(`${what} completes "${name}", which is none of its arguments`)
    if (isCompleter(completer)) completers.set(name, completer)
  }
  return completers
}

function isCompleter(value: unknown): value is Completer {
  return typeof value === 'function'
}

function invalid(message: string): McpError {
  return new McpError('INVALID', message)
}
