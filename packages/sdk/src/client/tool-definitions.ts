import { dialectNamed } from '../json-schema/schema-index.ts'
import { McpError, messageOf } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import type { JsonSchema, Tool } from '../protocol/definitions.ts'
import { type HeaderPlan, headerPlan, paramHeaders } from '../protocol/headers.ts'

/** Loaded with the first output schema. */
let compileSchema: typeof import('../json-schema/compile-schema.ts').compileSchema | undefined

type Check = (value: unknown) => string | undefined

interface KnownTool {
  readonly tool: Tool
  readonly plan: HeaderPlan
  readonly output: JsonSchema | undefined
  check: Check | undefined
}

/** The listed tools: header plans for their arguments and output schemas for their results. */
export class ToolDefinitions {
  readonly #known = new Map<string, KnownTool>()
  readonly #rejected = new Map<string, string>()
  readonly #mirrorsHeaders: boolean
  readonly #warn: (text: string) => void
  #generation = 0

  /** @param mirrorsHeaders whether requests carry `Mcp-Param-*` headers */
  constructor(mirrorsHeaders: boolean, warn: (text: string) => void) {
    this.#mirrorsHeaders = mirrorsHeaders
    this.#warn = warn
  }

  /** Adds listed tools and returns those that can be called. */
  async update(tools: readonly Tool[]): Promise<Tool[]> {
    const generation = this.#generation
    if (tools.some(({ outputSchema }) => isObject(outputSchema))) {
      compileSchema ??= (await import('../json-schema/compile-schema.ts')).compileSchema
    }
    const usable = tools.filter((tool) => this.#add(tool))
    if (generation !== this.#generation) this.clear()
    return usable
  }

  get isEmpty(): boolean {
    return this.#known.size === 0
  }

  tool(name: string): Tool | undefined {
    return this.#known.get(name)?.tool
  }

  clear(): void {
    this.#generation++
    this.#known.clear()
    this.#rejected.clear()
  }

  /**
   * The headers of a call.
   * @throws McpError 'INVALID' for a tool with invalid header annotations or an output schema in an unknown dialect
   */
  headers(name: unknown, args: unknown): Record<string, string> {
    if (typeof name !== 'string') return {}
    const dialect = this.#known.get(name)?.output?.['$schema']
    if (dialect !== undefined && dialectNamed(dialect) === undefined) {
      throw new McpError(
        'INVALID',
        `The tool "${name}" was not called: its output schema is in a dialect that is not supported, ${JSON.stringify(dialect)}. Supported are JSON Schema 2020-12 and draft-07.`,
      )
    }
    if (!this.#mirrorsHeaders) return {}
    const reason = this.#rejected.get(name)
    if (reason !== undefined) {
      throw new McpError('INVALID', `The tool "${name}" cannot be called over HTTP: ${reason}`)
    }
    const known = this.#known.get(name)
    return known === undefined ? {} : paramHeaders(known.plan, isObject(args) ? args : {})
  }

  /** @throws McpError 'INVALID' if the structured content does not match the tool's output schema */
  checkResult(name: unknown, result: JsonObject, required: boolean): void {
    const known = typeof name === 'string' ? this.#known.get(name) : undefined
    if (known?.output === undefined || result['isError'] === true) return
    const { structuredContent } = result
    if (structuredContent === undefined) {
      if (!required) return
      throw new McpError('INVALID', `The tool "${name}" has an output schema but sent no structured content`)
    }
    known.check ??= this.#compile(String(name), known.output)
    const fault = known.check(structuredContent)
    if (fault !== undefined) {
      throw new McpError(
        'INVALID',
        `The structured content of the tool "${name}" does not match its output schema: ${fault}`,
      )
    }
  }

  #add(tool: Tool): boolean {
    let plan: HeaderPlan = []
    if (this.#mirrorsHeaders) {
      try {
        plan = headerPlan(tool.inputSchema)
      } catch (error) {
        const reason = messageOf(error)
        if (this.#rejected.get(tool.name) !== reason) this.#warn(`Ignored the tool "${tool.name}": ${reason}`)
        this.#rejected.set(tool.name, reason)
        this.#known.delete(tool.name)
        return false
      }
    }
    this.#rejected.delete(tool.name)
    const output = isObject(tool.outputSchema) ? tool.outputSchema : undefined
    this.#known.set(tool.name, { tool, plan, output, check: undefined })
    return true
  }

  #compile(name: string, schema: JsonSchema): Check {
    try {
      if (compileSchema === undefined) throw new TypeError('the JSON Schema validator is not loaded')
      const compiled = compileSchema(schema)
      return (value) => compiled.check(value)
    } catch (error) {
      const reason = messageOf(error)
      this.#warn(`Results of the tool "${name}" are not checked: its output schema is invalid: ${reason}`)
      return () => undefined
    }
  }
}
