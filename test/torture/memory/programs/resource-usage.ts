import { setFlagsFromString } from 'node:v8'

// The engine discards the bytecode of unused functions, which would hide growth.
setFlagsFromString('--no-flush-bytecode')

/** Turns the compilers off, so that compiled code does not grow the heap over time. */
export function compileNothing(): void {
  for (const compiler of ['opt', 'maglev', 'sparkplug']) setFlagsFromString(`--no-${compiler}`)
}

/** The memory and handles of a process. */
export interface ResourceUsage {
  /** Bytes of the heap. */
  readonly heap: number
  /** Bytes outside of it. */
  readonly external: number
  /** Sockets, timers and the like that keep it alive, by their kind. */
  readonly handles: ReadonlyMap<string, number>
}

/** The memory and handles after garbage collection. */
export async function resourceUsage(): Promise<ResourceUsage> {
  for (let time = 0; time < 2; time++) {
    await new Promise((resolve) => setTimeout(resolve, 1))
    globalThis.gc?.()
  }
  const { heapUsed, external } = process.memoryUsage()
  const handles = new Map<string, number>()
  for (const kind of process.getActiveResourcesInfo()) handles.set(kind, (handles.get(kind) ?? 0) + 1)
  return { heap: heapUsed, external, handles }
}

/** The number of handles that were added. */
export function grown(before: ResourceUsage, after: ResourceUsage): number {
  return [...after.handles].reduce(
    (sum, [kind, count]) => sum + Math.max(0, count - (before.handles.get(kind) ?? 0)),
    0,
  )
}

/** Counts the warnings of this process from now on. */
export function countWarnings(): () => number {
  let warnings = 0
  process.on('warning', (warning) => {
    warnings++
    process.stderr.write(`${warning.stack}\n`)
  })
  return () => warnings
}

/** Listeners of the process itself. */
export function ownListeners(): number {
  return process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0)
}
