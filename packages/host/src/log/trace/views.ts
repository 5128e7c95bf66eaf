import type { TraceEvent, TraceLane, TraceNode, TracePair, TraceQuery } from '../../types/index.ts'
import type { Events } from './events.ts'

/** So many generations of causes are followed, since a store may hold anything. */
const maxDepth = 64

/** Events under what caused them, with everything that they caused. */
export function treeOf(events: Events, query: TraceQuery): TraceNode[] {
  const found = events.list(query)
  const matched = new Set(found.map(({ id }) => id))
  const all = new Map(found.map((event) => [event.id, event]))
  const add = (more: readonly TraceEvent[]): TraceEvent[] =>
    more.filter((event) => {
      if (all.has(event.id)) return false
      all.set(event.id, event)
      return true
    })
  let below = found
  for (let depth = 0; below.length > 0 && depth < maxDepth; depth++) {
    below = add(events.under(below.map(({ id }) => id)))
    for (const { id } of below) matched.add(id)
  }
  let above = found
  for (let depth = 0; above.length > 0 && depth < maxDepth; depth++) {
    above = add(events.byIds(above.flatMap((event) => parentOf(event) ?? [])))
  }
  const children = new Map<number | null, TraceEvent[]>()
  for (const event of [...all.values()].sort((a, b) => a.id - b.id)) {
    const parent = parentOf(event)
    // What comes before the event it is said to come from belongs to no tree.
    const place = parent !== null && all.has(parent) && parent < event.id ? parent : null
    const siblings = children.get(place) ?? []
    children.set(place, siblings)
    siblings.push(event)
  }
  const nodes = (parent: number | null): TraceNode[] =>
    (children.get(parent) ?? []).map((event) => ({
      event,
      matched: matched.has(event.id),
      children: nodes(event.id),
    }))
  return nodes(null)
}

function parentOf({ reply, cause }: TraceEvent): number | null {
  return reply ?? cause
}

/** What happened when, one lane for each server and one for everything beside them. */
export function timelineOf(events: Events, query: TraceQuery): TraceLane[] {
  const lanes = new Map<string | null, { event: TraceEvent; fromMs: number; toMs: number }[]>()
  const found = events.list(query)
  // An answer says when its request began and how long it took.
  const answered = new Set(found.map(({ reply }) => reply))
  const known = new Map(found.map((event) => [event.id, event]))
  for (const event of found) {
    if (answered.has(event.id)) continue
    const spans = lanes.get(event.server) ?? []
    lanes.set(event.server, spans)
    const { fromMs, toMs } = timesOf(event)
    const from = Math.max(fromMs, earliestOf(event, known))
    spans.push({ event, fromMs: from, toMs: Math.max(from, toMs) })
  }
  return [...lanes]
    .map(([server, spans]) => ({
      server,
      spans: spans.sort((a, b) => a.fromMs - b.fromMs || a.event.id - b.event.id),
    }))
    .sort((a, b) => (a.spans[0]?.fromMs ?? 0) - (b.spans[0]?.fromMs ?? 0))
}

/** When what an event came from began: times are whole milliseconds and durations are not, so it may seem earlier. */
function earliestOf(event: TraceEvent, known: ReadonlyMap<number, TraceEvent>): number {
  const request = event.reply === null ? event : known.get(event.reply)
  const cause = known.get(request?.cause ?? event.cause ?? -1)
  return cause === undefined || cause === event ? Number.NEGATIVE_INFINITY : timesOf(cause).fromMs
}

/** When an event began and ended. What is written down at its end says how long it took before. */
export function timesOf(event: TraceEvent): { fromMs: number; toMs: number } {
  const at = Date.parse(event.at)
  const ms = event.durationMs ?? 0
  const isEnd = event.activity === null || event.kind === 'model'
  return isEnd ? { fromMs: at - ms, toMs: at } : { fromMs: at, toMs: at + ms }
}

/** Messages with their answers; an answer that matches alone brings its request along. */
export function pairsOf(events: Events, { filter = '', ...query }: TraceQuery): TracePair[] {
  const found = events.wholes({ ...query, filter: `kind:wire ${filter}` })
  const have = new Map(found.map((event) => [event.id, event]))
  const missing = found.flatMap(({ reply }) => (reply !== null && !have.has(reply) ? [reply] : []))
  for (const event of events.wholesOf(missing)) have.set(event.id, event)
  const firsts = [...have.values()].filter(({ reply }) => reply === null || !have.has(reply))
  const asked = firsts.filter(({ rpcId, reply }) => rpcId !== null && reply === null).map(({ id }) => id)
  const answers = new Map(events.answersTo(asked).map((answer) => [answer.reply, answer]))
  return firsts
    .sort((a, b) => a.id - b.id)
    .map((message) => {
      const answer = answers.get(message.id)
      return answer === undefined ? { message } : { message, answer }
    })
}
