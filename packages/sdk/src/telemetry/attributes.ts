import type { Attributes } from '@opentelemetry/api'
import type { JsonObject } from '../jsonrpc/message.ts'

/** Characters of a value that a peer may have chosen. */
const maxChars = 256
/** Characters of arguments and results, where they are recorded. */
const maxContentChars = 8192

/** What a request is about, by the semantic conventions for MCP. */
export interface Subject {
  /** The span's name: the method and, where there are few of it, its target. */
  readonly name: string
  /** For the span and the metric. */
  readonly common: Attributes
  /** For the metric too, once it is known that there is such a target: a peer can make up any number of names. */
  readonly target: Attributes
  /** For the span alone. */
  readonly single: Attributes
}

export function subjectOf(method: string, params: Readonly<JsonObject>): Subject {
  const common: Attributes = { 'mcp.method.name': method }
  const name = clipped(params['name'])
  const uri = clipped(params['uri'], maxContentChars)
  const single: Attributes = uri === undefined ? {} : { 'mcp.resource.uri': uri }
  switch (method) {
    case 'tools/call':
      common['gen_ai.operation.name'] = 'execute_tool'
      return { ...named(method, 'gen_ai.tool.name', name), common, single }
    case 'prompts/get':
      return { ...named(method, 'gen_ai.prompt.name', name), common, single }
    default:
      return { name: method, common, target: {}, single }
  }
}

function named(method: string, key: string, name: string | undefined): Pick<Subject, 'name' | 'target'> {
  return name === undefined
    ? { name: method, target: {} }
    : { name: `${method} ${name}`, target: { [key]: name } }
}

/** A text that came from somewhere else, bounded. */
export function clipped(value: unknown, max: number = maxChars): string | undefined {
  if (typeof value !== 'string') return undefined
  return value.length > max ? `${value.slice(0, max)}…` : value
}

/** A value as an attribute holds it, bounded. */
export function contentOf(value: unknown): string | undefined {
  try {
    return clipped(JSON.stringify(value), maxContentChars)
  } catch {
    return undefined
  }
}

/** The transport by the name of a client's link; undefined for one that is none, or could be several. */
export function transportOf(link: string | undefined): string | undefined {
  switch (link) {
    case 'stdio':
      return 'pipe'
    case 'http':
    case 'sse':
      return 'tcp'
    default:
      return undefined
  }
}
