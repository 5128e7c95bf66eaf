/** Schemas of prompt arguments that suggest values, for version 2. They are marked as those of version 1. */
import { COMPLETABLE_SYMBOL, isCompletable } from '../server/completable.ts'
import type { StandardSchemaWithJSON } from './context.ts'

export { isCompletable }

export type CompleteCallback<In> = (
  value: In,
  context?: { arguments?: Record<string, string> },
) => In[] | Promise<In[]>

/** Suggests values for a schema, in place. */
export function completable<In, Out, S extends StandardSchemaWithJSON<In, Out>>(
  schema: S & StandardSchemaWithJSON<In, Out>,
  complete: CompleteCallback<In>,
): S {
  return Object.assign(schema, { [COMPLETABLE_SYMBOL]: { complete } })
}
