import { asStoreError } from '../log/store/store-error.ts'
import { TraceFilterError } from '../log/trace/filter.ts'
import { ModelError } from '../models/model-error.ts'
import { failureFrom } from '../shared/failures.ts'
import { oneLine, reasonOf } from '../shared/text.ts'
import type { Fault } from './frames.ts'

/** An error in the form of a frame: code, message and data, without internals. */
export function faultOf(error: unknown): Fault {
  const failure = failureFrom(error)
  if (failure !== undefined) return failure
  const message = reasonOf(error)
  if (error instanceof TraceFilterError) {
    const { filter, column } = error
    return { code: 'INVALID', message, data: { filter, column } }
  }
  if (error instanceof ModelError) {
    const { kind, model, passes, fixes } = error
    return {
      ...{ code: 'MODEL', message, data: { kind, model, passes } },
      ...(fixes.length > 0 && { fixes }),
    }
  }
  const store = asStoreError(error)
  if (store !== undefined)
    return { code: 'STORE', message: oneLine(store.message), data: { fault: store.fault } }
  return { code: 'INTERNAL', message }
}
