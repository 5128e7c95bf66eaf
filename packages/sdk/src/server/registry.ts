import { McpError } from '../jsonrpc/error.ts'
import { isObject } from '../jsonrpc/parse.ts'
import type { Icon } from '../protocol/content.ts'
import type { Prompt, PromptArgument, Resource, ResourceTemplate, Tool } from '../protocol/definitions.ts'
import { type HeaderPlan, headerPlan } from '../protocol/headers.ts'
import type { Completer, Context } from './context.ts'
import { type Prepared, prepare } from './schema.ts'
import type { AnyPrompt, AnyTemplate, AnyTool, Definitions, ResourceValue } from './server.ts'
import { parseTemplate, type UriTemplate } from './uri-template.ts'

/** A tool ready to be listed and called. */
export interface ToolEntry {
  readonly name: string
  readonly input: Prepared | undefined
  readonly output: Prepared | undefined
  readonly run: (args: unknown, ctx: Context) => unknown
  /** Its row in `tools/list`, made once. */
  readonly listed: Tool
  /** Its mirrored arguments, found once; undefined when there are none. */
  readonly headers: HeaderPlan | undefined
}

export interface ResourceEntry {
  readonly definition: ResourceValue
  readonly listed: Resource
}

export interface TemplateEntry {
  readonly definition: AnyTemplate
  readonly template: UriTemplate
  readonly listed: ResourceTemplate
  readonly complete: Readonly<Record<string, Completer>>
  readonly read: (variables: Record<string, string | string[]>, ctx: Context, uri: string) => unknown
}

export interface PromptEntry {
  readonly name: string
  readonly definition: AnyPrompt
  readonly input: Prepared | undefined
  readonly run: (args: unknown, ctx: Context) => unknown
  readonly listed: Prompt
}

const toolName = /^[A-Za-z0-9_.-]{1,128}$/

/** What a server offers, by name. Maps, so that no name means anything but what was defined. */
export class Registry {
  readonly tools: Map<string, ToolEntry> = new Map()
  readonly resources: Map<string, ResourceEntry> = new Map()
  readonly templates: Map<string, TemplateEntry> = new Map()
  readonly prompts: Map<string, PromptEntry> = new Map()
  readonly #byUri = new Map<string, ResourceEntry>()

  /** @throws TypeError or McpError 'INVALID' for a definition that cannot be served */
  add(definitions: Definitions): void {
    for (const [name, tool] of Object.entries(definitions.tools ?? {}))
      this.tools.set(name, toolEntry(name, tool))
    for (const [name, value] of Object.entries(definitions.resources ?? {})) {
      if (value.kind === 'resource') this.#addResource(name, resourceEntry(name, value))
      else this.templates.set(name, templateEntry(name, value))
    }
    for (const [name, value] of Object.entries(definitions.prompts ?? {}))
      this.prompts.set(name, promptEntry(name, value))
  }

  /** Removes definitions; names that are not there are no fault. */
  remove(names: { tools?: string[]; resources?: string[]; prompts?: string[] }): void {
    for (const name of names.tools ?? []) this.tools.delete(name)
    for (const name of names.prompts ?? []) this.prompts.delete(name)
    for (const name of names.resources ?? []) {
      const uri = this.resources.get(name)?.definition.uri
      if (uri !== undefined) this.#byUri.delete(uri)
      this.resources.delete(name)
      this.templates.delete(name)
    }
  }

  /** The resource at a URI. */
  resourceAt(uri: string): ResourceEntry | undefined {
    return this.#byUri.get(uri)
  }

  #addResource(name: string, entry: ResourceEntry): void {
    const { uri } = entry.definition
    const other = this.#byUri.get(uri)
    if (other !== undefined && this.resources.get(name) !== other) {
      throw new TypeError(`Resources "${other.listed.name}" and "${name}" have the same URI, ${uri}`)
    }
    this.remove({ resources: [name] })
    this.resources.set(name, entry)
    this.#byUri.set(uri, entry)
  }
}

function shown(
  value: { title?: string; description?: string; icons?: Icon[]; meta?: object },
  what: string,
): object {
  const unsafe = value.icons?.find(({ src }) => !src.startsWith('https:') && !src.startsWith('data:'))
  if (unsafe !== undefined)
    throw new TypeError(`${what} has an icon that is neither https: nor data: (${unsafe.src})`)
  return {
    ...(value.title === undefined ? {} : { title: value.title }),
    ...(value.description === undefined ? {} : { description: value.description }),
    ...(value.icons === undefined ? {} : { icons: value.icons }),
    ...(value.meta === undefined ? {} : { _meta: value.meta }),
  }
}

function toolEntry(name: string, tool: AnyTool): ToolEntry {
  if (!toolName.test(name)) {
    throw new TypeError(`"${name}" cannot be a tool's name: use 1 to 128 of A-Z a-z 0-9 _ - .`)
  }
  const input = tool.input === undefined ? undefined : prepare(tool.input, 'input')
  const output = tool.output === undefined ? undefined : prepare(tool.output, 'output')
  const visible = shown(tool, `Tool "${name}"`)
  const listed: Tool = {
    name,
    ...visible,
    inputSchema:
      input === undefined ? { type: 'object', additionalProperties: false } : objectSchema(name, input),
    ...(output === undefined ? {} : { outputSchema: output.json }),
    ...(tool.annotations === undefined ? {} : { annotations: tool.annotations }),
  }
  const headers = planOf(name, listed)
  return {
    name,
    input,
    output,
    // The arguments were checked against `input`, where the handler's own type comes from.
    run: tool.run as ToolEntry['run'],
    listed,
    headers: headers.length === 0 ? undefined : headers,
  }
}

function objectSchema(name: string, input: Prepared): Tool['inputSchema'] {
  const { json } = input
  if (json['type'] !== 'object') throw new TypeError(`Tool "${name}" needs an object schema as its input`)
  return { ...json, type: 'object' }
}

function planOf(name: string, listed: Tool): HeaderPlan {
  try {
    return headerPlan(listed.inputSchema)
  } catch (error) {
    const why = error instanceof McpError ? error.message : 'the schema cannot be read'
    throw new McpError('INVALID', `Tool "${name}" has an invalid header annotation: ${why}`)
  }
}

function resourceEntry(name: string, value: ResourceValue): ResourceEntry {
  if (!URL.canParse(value.uri))
    throw new TypeError(`Resource "${name}" needs an absolute URI, not "${value.uri}"`)
  const { uri, mimeType, annotations, size } = value
  return {
    definition: value,
    listed: {
      uri,
      name,
      ...shown(value, `Resource "${name}"`),
      ...(mimeType === undefined ? {} : { mimeType }),
      ...(annotations === undefined ? {} : { annotations }),
      ...(size === undefined ? {} : { size }),
    },
  }
}

function templateEntry(name: string, value: AnyTemplate): TemplateEntry {
  const { uriTemplate, mimeType, annotations } = value
  return {
    definition: value,
    template: parseTemplate(uriTemplate),
    listed: {
      uriTemplate,
      name,
      ...shown(value, `Template "${name}"`),
      ...(mimeType === undefined ? {} : { mimeType }),
      ...(annotations === undefined ? {} : { annotations }),
    },
    complete: { ...value.complete },
    // The variables come from the very template their type comes from.
    read: value.read as TemplateEntry['read'],
  }
}

function promptEntry(name: string, value: AnyPrompt): PromptEntry {
  const input = value.input === undefined ? undefined : prepare(value.input, 'input')
  const visible = shown(value, `Prompt "${name}"`)
  return {
    name,
    definition: value,
    input,
    // The arguments were checked against `input`, where the handler's own type comes from.
    run: value.run as PromptEntry['run'],
    listed: { name, ...visible, ...(input === undefined ? {} : { arguments: argumentsOf(input) }) },
  }
}

function argumentsOf(input: Prepared): PromptArgument[] {
  const { properties, required } = input.json
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
