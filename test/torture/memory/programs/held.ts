import { setFlagsFromString } from 'node:v8'

// The engine throws the code of functions away that were not used for long, which would hide what grows meanwhile.
setFlagsFromString('--no-flush-bytecode')

/** Has the engine run everything as it is written, so that compiled code takes nothing of the heap as time goes by. */
export function compileNothing(): void {
  for (const compiler of ['opt', 'maglev', 'sparkplug']) setFlagsFromString(`--no-${compiler}`)
}

/** What a process holds. */
export interface ResourceUsage {
  /** Bytes of the heap. */
  readonly heap: number
  /** Bytes outside of it. */
  readonly external: number
  /** Sockets, timers and the like that keep it alive, by their kind. */
  readonly handles: ReadonlyMap<string, number>
}

/** What is held when everything that can go is gone. */
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

/** Handles that are there more often than before. */
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
