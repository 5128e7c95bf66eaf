import { dialectNamed } from '../json-schema/places.ts'
import { McpError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import type { JsonSchema, Tool } from '../protocol/definitions.ts'
import { type HeaderPlan, headerPlan, paramHeaders } from '../protocol/headers.ts'

/** Loaded with the first output schema. */
let compileSchema: typeof import('../json-schema/schema.ts').compileSchema | undefined

type Check = (value: unknown) => string | undefined

interface Known {
  readonly tool: Tool
  readonly plan: HeaderPlan
  readonly output: JsonSchema | undefined
  check: Check | undefined
}

/** What the listed tools ask of a client: arguments mirrored into headers, results that satisfy a schema. */
export class ToolDefinitions {
  readonly #known = new Map<string, Known>()
  readonly #refused = new Map<string, string>()
  readonly #mirrors: boolean
  readonly #warn: (text: string) => void
  #clears = 0

  /** `mirrors`: whether requests carry `Mcp-Param-*` headers. */
  constructor(mirrors: boolean, warn: (text: string) => void) {
    this.#mirrors = mirrors
    this.#warn = warn
  }

  /** Takes note of listed tools, and gives those that may be used. What checks their results is there from then on. */
  async learn(tools: readonly Tool[]): Promise<Tool[]> {
    const clears = this.#clears
    if (tools.some(({ outputSchema }) => isObject(outputSchema))) {
      compileSchema ??= (await import('../json-schema/schema.ts')).compileSchema
    }
    const usable = tools.filter((tool) => this.#learn(tool))
    if (clears !== this.#clears) this.clear()
    return usable
  }

  /** Whether no tool is known, because none were listed or they changed. */
  get isEmpty(): boolean {
    return this.#known.size === 0
  }

  /** A tool as it was listed. */
  tool(name: string): Tool | undefined {
    return this.#known.get(name)?.tool
  }

  /** Forgets every tool: they changed. */
  clear(): void {
    this.#clears++
    this.#known.clear()
    this.#refused.clear()
  }

  /**
   * The headers that go with a call.
   * @throws McpError 'INVALID' for a tool whose headers cannot be made, or whose results could not be understood
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
    if (!this.#mirrors) return {}
    const reason = this.#refused.get(name)
    if (reason !== undefined) {
      throw new McpError('INVALID', `The tool "${name}" cannot be called over HTTP: ${reason}`)
    }
    const known = this.#known.get(name)
    return known === undefined ? {} : paramHeaders(known.plan, isObject(args) ? args : {})
  }

  /** @throws McpError 'INVALID' when a result's structured content does not satisfy the tool's schema */
  checkResult(name: unknown, result: JsonObject, required: boolean): void {
    const known = typeof name === 'string' ? this.#known.get(name) : undefined
    if (known?.output === undefined || result['isError'] === true) return
    const { structuredContent } = result
    if (structuredContent === undefined) {
      if (!required) return
      throw new McpError('INVALID', `The tool "${name}" has an output schema but gave no structured content`)
    }
    known.check ??= this.#compile(String(name), known.output)
    const fault = known.check(structuredContent)
    if (fault !== undefined) {
      throw new McpError(
        'INVALID',
        `The structured content of the tool "${name}" does not satisfy its schema: ${fault}`,
      )
    }
  }

  #learn(tool: Tool): boolean {
    let plan: HeaderPlan = []
    if (this.#mirrors) {
      try {
        plan = headerPlan(tool.inputSchema)
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error)
        if (this.#refused.get(tool.name) !== reason) this.#warn(`Left out the tool "${tool.name}": ${reason}`)
        this.#refused.set(tool.name, reason)
        this.#known.delete(tool.name)
        return false
      }
    }
    this.#refused.delete(tool.name)
    const output = isObject(tool.outputSchema) ? tool.outputSchema : undefined
    this.#known.set(tool.name, { tool, plan, output, check: undefined })
    return true
  }

  #compile(name: string, schema: JsonSchema): Check {
    try {
      if (compileSchema === undefined) throw new TypeError('what checks it is not loaded')
      const compiled = compileSchema(schema)
      return (value) => compiled.check(value)
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      this.#warn(`Results of the tool "${name}" are not checked, because its schema cannot be used: ${why}`)
      return () => undefined
    }
  }
}
