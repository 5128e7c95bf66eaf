import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')

/** Runs a garbage collection. */
export const gc: NodeJS.GCFunction = runInNewContext('gc')

/** Reachable bytes of this process, on its heap and outside. */
export function heldBytes(): number {
  gc()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
