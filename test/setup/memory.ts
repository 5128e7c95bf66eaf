import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')

/** Collects what nothing points to, at once. */
export const gc: NodeJS.GCFunction = runInNewContext('gc')

/** Bytes that something of this process points to, in its heap and outside of it. */
export function heldBytes(): number {
  gc()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
