import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const gc: NodeJS.GCFunction = runInNewContext('gc')

/** Bytes of heap in use: after a full collection, which makes all there is old, or after collections of what is young. */
export function inUse(which: unknown): number {
  if (which === 'old') gc()
  gc({ type: 'minor' })
  gc({ type: 'minor' })
  return process.memoryUsage().heapUsed
}
