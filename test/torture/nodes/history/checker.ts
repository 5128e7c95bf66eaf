import { type ClientRecord, clientOf, type FaultRecord, type History, type Violation } from './records.ts'

// The promises, by number:
// 1. A booking that was acknowledged was made under one key, and no step of a request ran under two.
// A failover of Redis may forget that an answer of 2026-07-28 was used: then the step runs again under the same key, once for each time it
// is sent.
// 2. An effect without a step was made at most once.
// 3. A result that was acknowledged is the right one, and is read again as it was while it is kept; a call is interrupted only by a fault.
// 4. The events of a stream arrive in their order, without a gap, and none twice, over any number of resumptions.
// 5. Nothing of a principal or a session reaches another.
// 6. A question is asked once, and one answer to it is used, of its own client.
// 7. A session that was ended does not exist on any node, and no other session is lost.
// 8. Each request ends in time, with at most one response.
// 9. Each change is known to every subscriber at last.
// 10. Nothing stays in the store.

const outages: readonly FaultRecord['kind'][] = ['store paused', 'store restarted', 'store failed over']
const ends: readonly FaultRecord['kind'][] = [...outages, 'node killed', 'node paused']
/** Milliseconds that a fault has effects afterwards: clients reconnect, and load balancers detect it. */
const afterMs = 3_000

/** Checks all promises on a history. */
export function check(history: History): Violation[] {
  return [
    ...checkEffects(history),
    ...checkResults(history),
    ...checkStreams(history),
    ...checkSecrecy(history),
    ...checkQuestions(history),
    ...checkSessions(history),
    ...checkChanges(history),
    ...checkKeys(history),
  ]
}

type Of<T extends ClientRecord['type']> = Extract<ClientRecord, { type: T }>

function recordsOf<T extends ClientRecord['type']>({ clients }: History, type: T): Of<T>[] {
  return clients.filter((record): record is Of<T> => record.type === type)
}

function isDuring(
  { faults, nodes }: History,
  kinds: readonly FaultRecord['kind'][],
  from: number,
  until: number,
): boolean {
  return (
    faults.some(
      (fault) => kinds.includes(fault.kind) && fault.from <= until && fault.until + afterMs >= from,
    ) ||
    (kinds.includes('store paused') &&
      nodes.some((one) => one.type === 'failed' && one.at - afterMs <= until && one.at + afterMs >= from))
  )
}

function groupBy<T>(values: readonly T[], key: (value: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const value of values) {
    const name = key(value)
    const group = groups.get(name)
    if (group === undefined) groups.set(name, [value])
    else group.push(value)
  }
  return groups
}

/** Whether a failover of the store may have forgotten that an answer of a call without a session was used. */
export function mayBeUsedAgain(history: History, op: string): boolean {
  if (!/xm\d+$/.test(clientOf(op))) return false
  const of = history.clients.filter((record) => 'op' in record && record.op === op)
  const [start, end] = [of[0]?.at ?? 0, of.at(-1)?.at ?? 0]
  return history.faults.some(
    ({ kind, from, until }) => kind === 'store failed over' && from <= end && until >= start,
  )
}

/** The steps of each tool. */
const steps: Readonly<Record<string, readonly string[]>> = {
  ask: ['book'],
  askTwice: ['book'],
  steps: ['reserve', 'book'],
}

function checkEffects(history: History): Violation[] {
  const found: Violation[] = []
  const effects = history.nodes.filter((record) => record.type === 'effect')
  const byOp = groupBy(effects, ({ op }) => op)
  const invoked = new Map(recordsOf(history, 'invoked').map((record) => [record.op, record]))
  for (const [op, made] of byOp) {
    if (!invoked.has(op)) found.push({ promise: 1, what: `${op} had an effect and was never called` })
    for (const [step, times] of groupBy(made, ({ step = '' }) => step)) {
      if (times.length <= 1) continue
      const promise = step === '' ? 2 : 1
      const keys = new Set(times.map(({ key }) => key)).size
      if (promise === 1 && keys === 1 && mayBeUsedAgain(history, op)) continue
      found.push({
        promise,
        what: `${op}: the effect "${step}" was made ${times.length} times, under ${keys} keys`,
      })
    }
  }
  for (const { op, outcome } of recordsOf(history, 'completed')) {
    if (outcome !== 'result') continue
    const tool = invoked.get(op)?.tool ?? ''
    const made = byOp.get(op) ?? []
    for (const step of steps[tool] ?? []) {
      if (!made.some((one) => one.step === step))
        found.push({ promise: 1, what: `${op} was acknowledged without its effect "${step}"` })
    }
    if (tool === 'effect' && made.length === 0)
      found.push({ promise: 2, what: `${op} was acknowledged without its effect` })
  }
  return found
}

function checkResults(history: History): Violation[] {
  const found: Violation[] = []
  const completed = groupBy(recordsOf(history, 'completed'), ({ op }) => op)
  for (const { op, at, tool, principal } of recordsOf(history, 'invoked')) {
    const [end] = completed.get(op) ?? []
    if (end === undefined || end.outcome === 'hung') {
      found.push({ promise: 8, what: `${tool} ${op} did not end: ${end?.text ?? ''}` })
      continue
    }
    const { outcome, text, responses } = end
    if (responses > 1 && !mayBeUsedAgain(history, op))
      found.push({ promise: 8, what: `${op} had ${responses} responses` })
    const paused = history.faults
      .filter(({ kind, from, until }) => ends.includes(kind) && from <= end.at && until >= at)
      .reduce((sum, { from, until }) => sum + until - from, 0)
    if (end.at - at > history.limitMs + paused)
      found.push({ promise: 8, what: `${tool} ${op} took ${Math.round(end.at - at)} ms` })
    const isRight = text === `${tool} ${op} for ${principal}`
    if (outcome === 'result' && !isRight && tool !== 'touch')
      found.push({ promise: 3, what: `${tool} ${op} had the result "${text}"` })
    const isFailure = outcome === 'interrupted' || outcome === 'unknown' || outcome === 'refused'
    if (isFailure && !isDuring(history, ends, at, end.at))
      found.push({ promise: 3, what: `${tool} ${op} failed without a fault: ${outcome} ${text}` })
  }
  for (const { op, from, at, how } of recordsOf(history, 'retrieved')) {
    if (how === 'different') found.push({ promise: 3, what: `${op} was read again with other events` })
    if (how === 'absent' && !isDuring(history, outages, from, at))
      found.push({ promise: 3, what: `${op} could not be read again` })
  }
  return found
}

/** The stored events of one stream in the log of one node, in the order of their only writer. */
type StoredPart = { readonly id: string; readonly isEmpty: boolean }[]

function checkStreams(history: History): Violation[] {
  const found: Violation[] = []
  /** The parts of streams by their events: `session stream_position`. */
  const parts = new Map<string, StoredPart>()
  const byLog = new Map<string, StoredPart>()
  const entries = new Map<string, string>()
  for (const record of history.nodes) {
    if (record.type !== 'stored') continue
    const { log, position, entry } = record
    const known = entries.get(`${log} ${position}`)
    if (known !== undefined && known !== entry)
      found.push({ promise: 4, what: `position ${position} of ${log} was given to two events` })
    entries.set(`${log} ${position}`, entry)
    const stream = /^[\w-]+/.exec(entry)?.[0] ?? ''
    const id = `${stream}_${position}`
    const part = byLog.get(`${log} ${stream}`) ?? []
    part.push({ id, isEmpty: entry.length === stream.length + 1 })
    byLog.set(`${log} ${stream}`, part)
    parts.set(`${log.split(':')[1]} ${id}`, part)
  }
  const read = groupBy(recordsOf(history, 'event'), ({ session, reader, id }) => {
    return `${session} ${streamOf(id)} ${reader}`
  })
  for (const [key, events] of read) {
    const [session = ''] = key.split(' ')
    const seen = new Set<string>()
    let last: { number: number; place: number; part: StoredPart } | undefined
    for (const { id } of events) {
      if (seen.has(id)) found.push({ promise: 4, what: `${key} received ${id} twice` })
      seen.add(id)
      const storedId = id.replace(partMark, '_')
      const part = parts.get(`${session} ${storedId}`)
      if (part === undefined) {
        // A node that was killed, or did not get the reply of the store, may have stored it without entering that.
        const isUnknown =
          history.faults.some(({ kind }) => kind === 'node killed') ||
          history.nodes.some(({ type }) => type === 'failed')
        if (!isUnknown) found.push({ promise: 4, what: `${key} received ${id}, which was not stored` })
        last = undefined
        continue
      }
      const number = Number(partMark.exec(id)?.[1] ?? 0)
      const place = part.findIndex((event) => event.id === storedId)
      if (last !== undefined) {
        const isSame = last.number === number && last.part === part
        const missed = part.slice(isSame ? last.place + 1 : 0, place).filter((event) => !event.isEmpty)
        if (last.number > number || (isSame && place < last.place))
          found.push({ promise: 4, what: `${key} received ${id} after a later event` })
        else if (missed.length > 0)
          found.push({ promise: 4, what: `${key} did not receive ${missed.map((one) => one.id).join(', ')}` })
      }
      last = { number, place, part }
    }
  }
  return found
}

/** The number of the part in the id of an event that another node stored after it took the call over. */
const partMark = /-p(\d)_/

function streamOf(id: string): string {
  return id.slice(0, id.lastIndexOf('_')).replace(/-p\d$/, '')
}

function checkSecrecy(history: History): Violation[] {
  const found: Violation[] = []
  for (const { client, principal, text } of recordsOf(history, 'received')) {
    for (const [op] of text.matchAll(/\bop-\w+-\d+/g)) {
      if (clientOf(op) !== client) found.push({ promise: 5, what: `${client} received ${op}: ${text}` })
    }
    for (const [, name] of text.matchAll(/ for (\w+)/g)) {
      if (name !== principal && /\bop-/.test(text))
        found.push({ promise: 5, what: `${client}, which is ${principal}, received: ${text}` })
    }
  }
  for (const { status, of, what } of recordsOf(history, 'probe')) {
    if (of === 'foreign' && status < 400)
      found.push({ promise: 5, what: `${what} in the session of another principal got ${status}` })
  }
  return found
}

function checkQuestions(history: History): Violation[] {
  const found: Violation[] = []
  const name = ({ op, nth }: { op: string; nth: number }): string => `question ${nth} of ${op}`
  for (const [question, asked] of groupBy(recordsOf(history, 'question'), name)) {
    const ids = new Set(asked.map(({ id }) => id))
    if (ids.size > 1) found.push({ promise: 6, what: `${question} was asked ${ids.size} times` })
  }
  const nonces = groupBy(recordsOf(history, 'answered'), name)
  const used = history.nodes.filter((record) => record.type === 'used')
  for (const [question, times] of groupBy(used, name)) {
    if (times.length > 1 && !mayBeUsedAgain(history, times[0]?.op ?? ''))
      found.push({ promise: 6, what: `${question} had ${times.length} answers that were used` })
    for (const { nonce } of times) {
      if (nonces.get(question)?.some((one) => one.nonce === nonce) !== true)
        found.push({ promise: 6, what: `${question} was answered by another client` })
    }
  }
  return found
}

function checkSessions(history: History): Violation[] {
  const found: Violation[] = []
  for (const { of, status, what, at } of recordsOf(history, 'probe')) {
    if (of !== 'ended' || status === 404) continue
    // A node that cannot read sessions refuses all of them. A failover may lose that a session was ended.
    if (isDuring(history, outages, at, at)) continue
    found.push({ promise: 7, what: `${what} in a session that was ended got ${status}` })
  }
  for (const { session, since, at } of recordsOf(history, 'gone')) {
    if (!isDuring(history, ['store failed over'], since, at))
      found.push({ promise: 7, what: `the session ${session} was lost` })
  }
  return found
}

function checkChanges(history: History): Violation[] {
  const found: Violation[] = []
  const changed = groupBy(recordsOf(history, 'changed'), ({ session, uri }) => `${session} ${uri}`)
  const lost = new Set(recordsOf(history, 'gone').map(({ session }) => session))
  const touches = recordsOf(history, 'touched').filter(
    // A node that is killed may not have published what it did right before.
    ({ from, at }) =>
      !history.faults.some(
        (fault) => fault.kind === 'node killed' && fault.from <= at + 1_000 && fault.from >= from - 1_000,
      ),
  )
  for (const { session, uri, at } of recordsOf(history, 'subscribed')) {
    if (lost.has(session)) continue
    const last = Math.max(...touches.filter((touch) => touch.uri === uri).map(({ from }) => from))
    if (!(last >= at)) continue
    const newest = Math.max(...(changed.get(`${session} ${uri}`) ?? []).map((record) => record.at))
    if (!(newest >= last)) found.push({ promise: 9, what: `${session} does not know that ${uri} changed` })
  }
  return found
}

function checkKeys({ keys, longestLifeMs }: History): Violation[] {
  return keys
    .filter(({ ttlMs }) => ttlMs < 0 || ttlMs > longestLifeMs)
    .map(({ key, ttlMs }) => ({ promise: 10, what: `${key} stays in the store for ${ttlMs} ms` }))
}
