import { isRecord, type JsonRecord, valueAt } from '../../shared/json.ts'
import { oneLine } from '../../shared/text.ts'
import type { CatalogTool } from '../../types/index.ts'

const limits = { depth: 8, members: 80, branches: 20, parts: 1_000, characters: 8_000, remark: 300 }

/**
 * A JSON Schema as a TypeScript type, for a declaration. Constructs without a counterpart, or too long ones, are `unknown`; the
 * server validates values anyway.
 */
export function schemaType(schema: unknown, indent = ''): string {
  const text = typeOf(schema, { root: schema, depth: 0, indent, parts: { remaining: limits.parts } })
  return text.length > limits.characters ? 'Record<string, unknown>' : text
}

interface TypeContext {
  root: unknown
  depth: number
  indent: string
  /** Remaining output size, since references can expand a small schema endlessly. */
  parts: { remaining: number }
}

function typeOf(schema: unknown, at: TypeContext): string {
  at.parts.remaining -= 1
  if (!isRecord(schema) || at.depth > limits.depth || at.parts.remaining < 0) return 'unknown'
  const deeper = { ...at, depth: at.depth + 1 }
  const { $ref, const: constant, enum: choices, type } = schema
  if (typeof $ref === 'string') return typeOf(resolveReference(at.root, $ref), deeper)
  if (constant !== undefined) return literal(constant)
  if (Array.isArray(choices)) return union(choices.map(literal))
  if (type === 'object' || (type === undefined && isRecord(schema['properties'])))
    return withBranches(typeNamed('object', schema, at), schema, deeper)
  const branches = schema['anyOf'] ?? schema['oneOf']
  if (Array.isArray(branches) && type === undefined) {
    return union(branches.slice(0, limits.branches).map((branch) => typeOf(branch, deeper)))
  }
  const members = schema['allOf']
  if (Array.isArray(members) && type === undefined) {
    return (
      members
        .slice(0, limits.branches)
        .map((part) => `(${typeOf(part, deeper)})`)
        .join(' & ') || 'unknown'
    )
  }
  if (Array.isArray(type)) return union(type.map((typeName) => typeNamed(typeName, schema, at)))
  return typeNamed(type, schema, at)
}

/** An object whose other members are in branches next to its own. */
function withBranches(ownType: string, schema: JsonRecord, at: TypeContext): string {
  const typesIn = (branches: unknown): string[] =>
    Array.isArray(branches) ? branches.slice(0, limits.branches).map((branch) => typeOf(branch, at)) : []
  const branchTypes = [
    ...typesIn(schema['allOf']),
    ...[schema['anyOf'], schema['oneOf']].map((branches) => union(typesIn(branches))),
  ].filter((type) => type !== 'unknown')
  const members = [
    ...(ownType === 'Record<string, unknown>' ? [] : [ownType]),
    ...branchTypes.map((type) => `(${type})`),
  ]
  return members.length === 0 ? ownType : members.join(' & ')
}

function typeNamed(type: unknown, schema: JsonRecord, at: TypeContext): string {
  switch (type) {
    case 'string':
    case 'boolean':
    case 'number':
    case 'null':
      return type
    case 'integer':
      return 'number'
    case 'array':
      return arrayOf(schema, at)
    case 'object':
      return objectOf(schema, at)
    default:
      return 'unknown'
  }
}

function arrayOf(schema: JsonRecord, at: TypeContext): string {
  const deeper = { ...at, depth: at.depth + 1 }
  const tuple = schema['prefixItems']
  if (Array.isArray(tuple)) {
    const types = tuple.slice(0, limits.branches).map((item) => typeOf(item, deeper))
    return `[${[...types, ...(tuple.length > types.length ? ['...unknown[]'] : [])].join(', ')}]`
  }
  return `Array<${typeOf(schema['items'], deeper)}>`
}

function objectOf(schema: JsonRecord, at: TypeContext): string {
  const indent = `${at.indent}  `
  const deeper = { ...at, depth: at.depth + 1, indent }
  const required = Array.isArray(schema['required']) ? schema['required'] : []
  const properties = isRecord(schema['properties']) ? Object.entries(schema['properties']) : []
  const lines = properties
    .slice(0, limits.members)
    .flatMap(([name, property]) => [
      ...propertyComment(property, indent),
      `${indent}${memberName(name)}${required.includes(name) ? '' : '?'}: ${typeOf(property, deeper)}`,
    ])
  const more = schema['additionalProperties']
  const valueType = isRecord(more) ? typeOf(more, deeper) : 'unknown'
  if (lines.length === 0) return more === false ? '{}' : `Record<string, ${valueType}>`
  if (properties.length > limits.members || isRecord(more)) lines.push(`${indent}[name: string]: unknown`)
  return `{\n${lines.join('\n')}\n${at.indent}}`
}

function propertyComment(property: unknown, indent: string): string[] {
  if (!isRecord(property) || typeof property['description'] !== 'string') return []
  const defaultText =
    property['default'] === undefined ? '' : ` (default ${JSON.stringify(property['default'])})`
  return [comment(`${property['description'].slice(0, limits.remark)}${defaultText}`, indent)]
}

/** A server's text as one comment that can neither end early nor be a compiler directive. */
function comment(text: string, indent: string): string {
  return `${indent}/** ${commentText(text)} */`
}

/** A text of a server on one line, for a comment. */
export function commentText(text: string): string {
  return oneLine(text)
    .replaceAll('*/', '*\\/')
    .replace(/@(?=ts-)/gi, '\\@')
}

/** A member name, quoted if it is no identifier. */
export function memberName(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : quoted(name)
}

const invisibleCharacters = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cn}\p{Co}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu

/** A text as a JavaScript literal; invisible and bidirectional characters are escaped. */
export function quoted(text: string): string {
  return JSON.stringify(text).replace(invisibleCharacters, (character) =>
    Array.from(
      { length: character.length },
      (_, unit) => `\\u${character.charCodeAt(unit).toString(16).padStart(4, '0')}`,
    ).join(''),
  )
}

function literal(value: unknown): string {
  const text = typeof value === 'string' ? quoted(value) : JSON.stringify(value)
  return text === undefined || text.length > 200 || isRecord(value) || Array.isArray(value) ? 'unknown' : text
}

function union(types: readonly string[]): string {
  const distinct = [...new Set(types)]
  return distinct.includes('unknown') || distinct.length === 0 ? 'unknown' : distinct.join(' | ')
}

/** The target of a reference inside the schema. */
function resolveReference(root: unknown, reference: string): unknown {
  if (!reference.startsWith('#/')) return reference === '#' ? root : undefined
  const path = reference.slice(2).split('/')
  return valueAt(
    root,
    path.map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~')),
  )
}

const apiTypes = `/** The result of a tool. A tool that fails, or that policy or the person refused, throws an Error. */
interface Result<T = unknown> {
  /** All text of the content. */
  text: string
  /** The structured result; where there is none, the text read as JSON if it is JSON. */
  data: T
  content: Content[]
}

/** One content block of a result. Binary content is only a handle; show() adds it to the answer unchanged. */
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

/** The API of a program as TypeScript: the common part, then every tool as a function. */
export function declarations(tools: readonly CatalogTool[]): string {
  const servers = Map.groupBy(tools, ({ server }) => server)
  const members = [...servers].map(([server, entries]) => {
    const functions = entries.map((entry) => declaration(entry, '    '))
    return `  ${memberName(server)}: {\n${functions.join('\n')}\n  }`
  })
  return `${apiTypes}\n\ndeclare const servers: {\n${members.join('\n')}\n}\n`
}

function declaration({ tool }: CatalogTool, indent: string): string {
  const descriptions = [tool.title ?? tool.annotations?.title, tool.description].filter(
    (part) => part !== undefined,
  )
  const properties = Object.keys(Object(tool.inputSchema.properties))
  const required = tool.inputSchema.required
  const optional = !Array.isArray(required) || required.length === 0 ? '?' : ''
  const parameters =
    properties.length === 0 && tool.inputSchema.additionalProperties === false
      ? ''
      : `args${optional}: ${schemaType(tool.inputSchema, indent)}`
  const resultType =
    tool.outputSchema === undefined ? 'Result' : `Result<${schemaType(tool.outputSchema, indent)}>`
  return [
    ...(descriptions.length === 0 ? [] : [comment(descriptions.join(': '), indent)]),
    `${indent}${memberName(tool.name)}(${parameters}): Promise<${resultType}>`,
  ].join('\n')
}
