/**
 * Zod 3 and Zod 4 schemas behind one set of functions: object schemas of raw shapes, parsing, and JSON Schema. JSON Schema is
 * written by the same libraries, with the same options, as in the official SDK 1, so that tools are listed equally.
 */

import type { DescribedSchema } from '@jackfield/sdk'
import type * as z3 from 'zod/v3'
import { object as object3 } from 'zod/v3'
import type * as z4 from 'zod/v4/core'
import { safeParse as safeParse4, safeParseAsync as safeParseAsync4, toDotPath } from 'zod/v4/core'
import { object as object4, toJSONSchema } from 'zod/v4-mini'
import { zodToJsonSchema } from 'zod-to-json-schema'

export type AnySchema = z3.ZodTypeAny | z4.$ZodType
export type AnyObjectSchema = z3.AnyZodObject | z4.$ZodObject | AnySchema
export type ZodRawShapeCompat = Record<string, AnySchema>
export type SchemaOutput<S> = S extends z3.ZodTypeAny
  ? z3.infer<S>
  : S extends z4.$ZodType
    ? z4.output<S>
    : never
export type SchemaInput<S> = S extends z3.ZodTypeAny
  ? z3.input<S>
  : S extends z4.$ZodType
    ? z4.input<S>
    : never
export type ShapeOutput<Shape extends ZodRawShapeCompat> = { [K in keyof Shape]: SchemaOutput<Shape[K]> }

/**
 * A Standard Schema that describes itself as JSON Schema (zod 4.2, arktype, valibot with an adapter), for version 2 of the official
 * SDK. Zod schemas are wrapped too, because version 2 describes them by a newer dialect of JSON Schema.
 */
export class StandardSchema {
  readonly '~standard': DescribedSchema['~standard']
  /** The members of an object schema of Zod, whose completers are theirs. */
  readonly shape: Record<string, unknown> | undefined

  constructor(schema: DescribedSchema) {
    this['~standard'] = schema['~standard']
    const shape: unknown = 'shape' in schema ? schema.shape : undefined
    this.shape = isRecord(shape) ? shape : undefined
  }
}

/** The schema of a tool or prompt, in either version. */
export type ToolSchema = AnySchema | StandardSchema

/** The result of parsing a value. */
export type Parsed<T> = { success: true; data: T } | { success: false; error: unknown }

export function isZ4Schema(schema: AnySchema): schema is z4.$ZodType {
  return '_zod' in schema
}

function isZ3Schema(schema: AnySchema): schema is z3.ZodTypeAny {
  return !isZ4Schema(schema)
}

/**
 * The object schema of a raw shape.
 * @throws TypeError for a shape that mixes Zod 3 and Zod 4
 */
export function objectFromShape(shape: ZodRawShapeCompat): AnyObjectSchema {
  const zod3Shape: Record<string, z3.ZodTypeAny> = {}
  const zod4Shape: Record<string, z4.$ZodType> = {}
  for (const [name, schema] of Object.entries(shape)) {
    if (isZ4Schema(schema)) zod4Shape[name] = schema
    else zod3Shape[name] = schema
  }
  if (Object.keys(zod3Shape).length === 0) return object4(zod4Shape)
  if (Object.keys(zod4Shape).length === 0) return object3(zod3Shape)
  throw new TypeError('A shape has schemas of Zod 3 and of Zod 4: write all of them with one version')
}

export function safeParse<S extends AnySchema>(schema: S, data: unknown): Parsed<SchemaOutput<S>>
export function safeParse(schema: AnySchema, data: unknown): Parsed<unknown> {
  return isZ4Schema(schema) ? safeParse4(schema, data) : schema.safeParse(data)
}

export function safeParseAsync<S extends AnySchema>(
  schema: S,
  data: unknown,
): Promise<Parsed<SchemaOutput<S>>>
export function safeParseAsync(schema: AnySchema, data: unknown): Promise<Parsed<unknown>> {
  return isZ4Schema(schema) ? safeParseAsync4(schema, data) : schema.safeParseAsync(data)
}

/** The members of an object schema; undefined for any other schema. */
export function getObjectShape(schema: AnyObjectSchema | undefined): Record<string, AnySchema> | undefined {
  const shape: unknown = schema === undefined ? undefined : shapeOf(schema)
  const members: unknown = typeof shape === 'function' ? shape() : shape
  return isShape(members) ? members : undefined
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function shapeOf(schema: AnySchema): unknown {
  if (!isZ4Schema(schema)) return 'shape' in schema ? schema.shape : undefined
  const { def } = schema._zod
  return 'shape' in def ? def.shape : undefined
}

function isShape(value: unknown): value is Record<string, AnySchema> {
  return typeof value === 'object' && value !== null
}

/** The object schema of a raw shape or of an object schema; undefined for any other schema. */
export function normalizeObjectSchema(
  schema: AnySchema | ZodRawShapeCompat | undefined,
): AnyObjectSchema | undefined {
  if (schema === undefined) return undefined
  if (isSchema(schema)) return getObjectShape(schema) === undefined ? undefined : schema
  return isRawShape(schema) ? objectFromShape(schema) : undefined
}

/** Whether a value is a Zod schema of any version. */
export function isSchema(value: unknown): value is AnySchema {
  if (typeof value !== 'object' || value === null) return false
  return '_zod' in value || '_def' in value || ('safeParse' in value && typeof value.safeParse === 'function')
}

/** Whether a value is an object of schemas. An empty object is one. */
export function isRawShape(value: unknown): value is ZodRawShapeCompat {
  if (typeof value !== 'object' || value === null || isSchema(value)) return false
  const members = Object.values(value)
  return members.length === 0 || members.some(isSchema)
}

/** The issues of a validation error with their paths, one on each line. */
export function getParseErrorMessage(error: unknown): string {
  if (typeof error !== 'object' || error === null) return String(error)
  if ('issues' in error && Array.isArray(error.issues) && error.issues.length > 0) {
    return error.issues.map(issueText).join('\n')
  }
  return 'message' in error && typeof error.message === 'string' ? error.message : JSON.stringify(error)
}

function issueText(issue: { message?: unknown; path?: unknown }): string {
  const { message, path } = issue
  const location = Array.isArray(path) && path.length > 0 ? ` at ${toDotPath(path)}` : ''
  return `${message}${location}`
}

export function getSchemaDescription(schema: AnySchema): string | undefined {
  return 'description' in schema && typeof schema.description === 'string' ? schema.description : undefined
}

export function isSchemaOptional(schema: AnySchema): boolean {
  return isZ4Schema(schema) ? schema._zod.def.type === 'optional' : schema.isOptional()
}

/** The value of a literal schema; undefined for any other. */
export function getLiteralValue(schema: AnySchema): unknown {
  const def: unknown = isZ4Schema(schema) ? schema._zod.def : schema._def
  if (typeof def !== 'object' || def === null) return undefined
  if ('values' in def && Array.isArray(def.values)) return def.values[0]
  return 'value' in def ? def.value : undefined
}

/** The JSON Schema of a Zod schema, for its values before (`input`) or after (`output`) parsing. */
export function jsonSchemaOf(schema: AnySchema, side: 'input' | 'output'): Record<string, unknown> {
  if (isZ3Schema(schema)) return { ...zodToJsonSchema(schema, { strictUnions: true, pipeStrategy: side }) }
  return { ...toJSONSchema(schema, { target: 'draft-7', io: side }) }
}

/**
 * The method that a request or notification schema is for.
 * @throws TypeError for a schema without a literal `method`
 */
export function methodOf(schema: AnyObjectSchema): string {
  const method = getObjectShape(schema)?.['method']
  const value = method === undefined ? undefined : getLiteralValue(method)
  if (typeof value === 'string') return value
  throw new TypeError(
    'The schema of a handler needs a literal "method", as CallToolRequestSchema has: z.object({ method: z.literal("…") })',
  )
}

/** Parses a value by a schema of either version. */
export async function parseWith(schema: ToolSchema, value: unknown): Promise<Parsed<unknown>> {
  if (!(schema instanceof StandardSchema)) return safeParseAsync(schema, value)
  const result = await schema['~standard'].validate(value)
  if (result.issues === undefined) return { success: true, data: result.value }
  const issues = result.issues.map(({ message, path = [] }) => {
    const place = path.map((part) => String(isRecord(part) ? part['key'] : part)).join('.')
    return place === '' ? message : `${place}: ${message}`
  })
  return { success: false, error: new Error(issues.join(', ')) }
}

/** The JSON Schema of an object schema of either version; undefined for any other schema. */
export function describeSchema(
  schema: ToolSchema | undefined,
  side: 'input' | 'output',
): Record<string, unknown> | undefined {
  if (schema instanceof StandardSchema)
    return schema['~standard'].jsonSchema[side]({ target: 'draft-2020-12' })
  const object = normalizeObjectSchema(schema)
  return object === undefined ? undefined : jsonSchemaOf(object, side)
}

/** The members of an object schema of either version, as far as they are schemas of Zod. */
export function membersOf(schema: ToolSchema | undefined): Record<string, AnySchema> {
  const members = schema instanceof StandardSchema ? (schema.shape ?? {}) : (getObjectShape(schema) ?? {})
  return Object.fromEntries(
    Object.entries(members).flatMap(([name, member]) => (isSchema(member) ? [[name, member]] : [])),
  )
}
