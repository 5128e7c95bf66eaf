import { type Sample, slopeOf } from '../slope.ts'
import { period } from './kinds.ts'
import {
  compileNothing,
  countWarnings,
  grown,
  ownListeners,
  type ResourceUsage,
  resourceUsage,
} from './resource-usage.ts'

/** A kind of request: each number once, several at a time. */
export interface Way {
  /** Sends the request of a number, and throws if its response is wrong. */
  runRequest(n: number): Promise<void>
  /** Concurrent requests. */
  readonly concurrency: number
  /** Listeners of everything that lives long, besides the process. */
  listeners(): number
  /** Settles when every request is over. Default: with `runRequest`. */
  settled?(): Promise<void>
}

/** The number of requests, and of samples of memory. */
export interface Plan {
  /** Requests that are measured. */
  readonly requests: number
  /** Requests before the measurement, until one-time allocations are made. */
  readonly warm: number
  readonly samples: number
  /** Bytes leaked for each request on purpose: a multiple of 32. */
  readonly leak: number
  /** Whether the engine compiles what is used much, which grows the heap for the first 100 000 requests. */
  readonly compiles: boolean
}

interface LinkedObject {
  readonly before: LinkedObject | undefined
}

/** The plan of a program. */
export function planIn(text: string | undefined): Plan & { readonly way: string; readonly crowd?: string } {
  return JSON.parse(text ?? '{}')
}

/** Sends many requests, and prints how memory grows with their number. */
export async function soak(way: Way, { requests, warm, samples, leak, compiles }: Plan): Promise<void> {
  if (!compiles) compileNothing()
  const warnings = countWarnings()
  let newest: LinkedObject | undefined
  let next = 0
  const until = async (end: number): Promise<void> => {
    const worker = async (): Promise<void> => {
      while (next < end) {
        await way.runRequest(next++)
        // An object of one member takes 32 bytes: its shape, its two stores and the member.
        for (let bytes = 0; bytes < leak; bytes += 32) newest = { before: newest }
      }
    }
    await Promise.all(Array.from({ length: way.concurrency }, worker))
    await way.settled?.()
  }
  const whole = (count: number): number => Math.ceil(count / period) * period
  const begin = whole(warm)
  await until(begin)
  const each = whole(requests / samples)
  const found: (ResourceUsage & { at: number; listeners: number })[] = []
  for (let sample = 0; sample <= samples; sample++) {
    await until(begin + sample * each)
    found.push({ at: next, ...(await resourceUsage()), listeners: ownListeners() + way.listeners() })
  }
  const [first] = found
  const last = found.at(-1)
  if (first === undefined || last === undefined) throw new Error('Nothing was measured')
  const heap = slopeOf(found.map(({ at, heap }): Sample => ({ at, held: heap })))
  const external = slopeOf(found.map(({ at, external }): Sample => ({ at, held: external })))
  const report = {
    requests: samples * each,
    heap: heap.best,
    heapUpper: heap.upper,
    externalUpper: external.upper,
    handles: grown(first, last),
    listeners: last.listeners - first.listeners,
    warnings: warnings(),
    heldBytes: last.heap,
    // Keeps the chain in use to the end.
    leaked: newest === undefined ? 0 : leak * next,
  }
  process.stdout.write(JSON.stringify(report), () => process.exit())
}
