import { createHash } from 'node:crypto'
import type { Activity } from '../../types/index.ts'

/** The ids under which rows of the activity log are told to others as parts of a trace. */
export interface SpanIds {
  /** 32 hexadecimal digits, the same for everything that comes from one thing. */
  trace(root: number): string
  /** 16 hexadecimal digits. */
  span(event: number): string
}

/** Ids of W3C trace context that come from nothing but the store and an event's number. */
export function createSpanIds(salt: string): SpanIds {
  const hash = (what: string, id: number): string =>
    createHash('sha256').update(`${salt} ${what} ${id}`).digest('hex')
  return {
    trace: (root) => hash('trace', root).slice(0, 32),
    span: (event) => hash('span', event).slice(0, 16),
  }
}

/** What requests carry along in `_meta`, by the activity row that they are made for. */
export interface Traceparents {
  of(row: Activity['id']): Record<string, string> | undefined
}

/** `traceparent` of W3C trace context, which SEP-414 gives a place in the `_meta` of requests. */
export function createTraceparents(
  ids: SpanIds,
  eventOf: (row: number) => number | null,
  rootOf: (event: number) => number,
): Traceparents {
  return {
    of(row) {
      const event = eventOf(row)
      if (event === null) return undefined
      return { traceparent: `00-${ids.trace(rootOf(event))}-${ids.span(event)}-01` }
    },
  }
}
