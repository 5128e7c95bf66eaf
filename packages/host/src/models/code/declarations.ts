import type { CatalogTool } from '../../types/index.ts'
import { comment, memberName, schemaType } from './schema-type.ts'

const shared = `/** What a tool gave. A tool that fails, or that policy or the person refused, throws an Error instead. */
interface Result<T = unknown> {
  /** All text of the content. */
  text: string
  /** The structured result; where there is none, the text read as JSON if it is JSON. */
  data: T
  content: Content[]
}

/** One piece of a result. What is no text stays outside; show() puts it into the answer as it is. */
interface Content {
  type: 'text' | 'image' | 'audio' | 'resource' | 'resource_link'
  text?: string
  mimeType?: string
  uri?: string
  name?: string
}

/** Puts results, pieces of them, or texts into the answer. */
declare function show(...things: unknown[]): void

declare const console: { log(...values: unknown[]): void }`

/** What a program can use, as TypeScript: the same for all servers, then every tool as a function. */
export function declarations(tools: readonly CatalogTool[]): string {
  const servers = Map.groupBy(tools, ({ server }) => server)
  const members = [...servers].map(([server, own]) => {
    const functions = own.map((entry) => declaration(entry, '    '))
    return `  ${memberName(server)}: {\n${functions.join('\n')}\n  }`
  })
  return `${shared}\n\ndeclare const servers: {\n${members.join('\n')}\n}\n`
}

function declaration({ tool }: CatalogTool, indent: string): string {
  const says = [tool.title ?? tool.annotations?.title, tool.description].filter((part) => part !== undefined)
  const properties = Object.keys(Object(tool.inputSchema.properties))
  const required = tool.inputSchema.required
  const optional = !Array.isArray(required) || required.length === 0 ? '?' : ''
  const given =
    properties.length === 0 && tool.inputSchema.additionalProperties === false
      ? ''
      : `args${optional}: ${schemaType(tool.inputSchema, indent)}`
  const gives =
    tool.outputSchema === undefined ? 'Result' : `Result<${schemaType(tool.outputSchema, indent)}>`
  return [
    ...(says.length === 0 ? [] : [comment(says.join(': '), indent)]),
    `${indent}${memberName(tool.name)}(${given}): Promise<${gives}>`,
  ].join('\n')
}
