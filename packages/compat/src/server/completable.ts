/** Schemas of prompt arguments that suggest values. The schema is the given one, marked with its completer. */
import type { AnySchema, SchemaInput } from './schemas.ts'

export const COMPLETABLE_SYMBOL: unique symbol = Symbol.for('mcp.completable')

export type CompleteCallback<T extends AnySchema = AnySchema> = (
  value: SchemaInput<T>,
  context?: { arguments?: Record<string, string> },
) => SchemaInput<T>[] | Promise<SchemaInput<T>[]>

export type CompletableMeta<T extends AnySchema = AnySchema> = { complete: CompleteCallback<T> }
export type CompletableSchema<T extends AnySchema> = T & { [COMPLETABLE_SYMBOL]: CompletableMeta<T> }

/** Suggests values for a schema, in place. */
export function completable<T extends AnySchema>(
  schema: T,
  complete: CompleteCallback<T>,
): CompletableSchema<T> {
  return Object.assign(schema, { [COMPLETABLE_SYMBOL]: { complete } })
}

export function isCompletable(schema: unknown): schema is CompletableSchema<AnySchema> {
  return typeof schema === 'object' && schema !== null && COMPLETABLE_SYMBOL in schema
}

export function getCompleter<T extends AnySchema>(schema: T): CompleteCallback<T> | undefined {
  return isCompletable(schema) ? schema[COMPLETABLE_SYMBOL].complete : undefined
}

/** The schema itself, which is the marked one. */
export function unwrapCompletable<T extends AnySchema>(schema: CompletableSchema<T>): T {
  return schema
}

export const McpZodTypeKind = { Completable: 'McpCompletable' } as const
export type McpZodTypeKind = (typeof McpZodTypeKind)[keyof typeof McpZodTypeKind]
export interface CompletableDef<T extends AnySchema = AnySchema> {
  type: T
  complete: CompleteCallback<T>
  typeName: McpZodTypeKind
}
