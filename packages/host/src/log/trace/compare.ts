import { canonical, isRecord } from '../../shared/json.ts'
import type { Recording, ResultChange } from '../../types/index.ts'

const maxChanges = 200

/** Where two JSON values are different, by JSON Pointer; the first 200 places. */
export function changesBetween(before: unknown, after: unknown): ResultChange[] {
  const changes: ResultChange[] = []
  const look = (path: string, a: unknown, b: unknown): void => {
    if (changes.length >= maxChanges || canonical(a) === canonical(b)) return
    const both = (isRecord(a) && isRecord(b)) || (Array.isArray(a) && Array.isArray(b))
    if (!both) {
      changes.push({
        path,
        ...(a !== undefined && { before: a }),
        ...(b !== undefined && { after: b }),
      })
      return
    }
    const [one, other] = [new Map(Object.entries(a)), new Map(Object.entries(b))]
    for (const name of new Set([...one.keys(), ...other.keys()]))
      look(`${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`, one.get(name), other.get(name))
  }
  look('', before, after)
  return changes
}

/** What is in `_meta` belongs to one sending and not to what was sent. */
export function withoutMeta(value: unknown): unknown {
  if (!isRecord(value)) return value
  const { _meta: _, ...rest } = value
  return rest
}

/** How often a request was made in one of two recordings only, or what it gave then and now. */
export interface RecordingChange {
  readonly server: string
  readonly method: string
  readonly params: Readonly<Record<string, unknown>>
  /** Undefined where both have it. */
  readonly only?: 'first' | 'second'
  readonly changes: readonly ResultChange[]
}

/** What is different between two recordings, whatever the order in which things were asked. */
export function recordingChanges(first: Recording, second: Recording): RecordingChange[] {
  const names = new Set([...Object.keys(first.servers), ...Object.keys(second.servers)])
  return [...names].flatMap((server) => {
    const [one, other] = [byRequest(first, server), byRequest(second, server)]
    return [...new Set([...one.keys(), ...other.keys()])].flatMap((key) => {
      const [before = [], after = []] = [one.get(key), other.get(key)]
      return Array.from({ length: Math.max(before.length, after.length) }, (_, n): RecordingChange[] => {
        const [a, b] = [before[n], after[n]]
        const { method, params } = a ?? b ?? { method: '', params: {} }
        if (a === undefined || b === undefined)
          return [{ server, method, params, only: a === undefined ? 'second' : 'first', changes: [] }]
        const changes = changesBetween(a.answer, b.answer)
        return changes.length === 0 ? [] : [{ server, method, params, changes }]
      }).flat()
    })
  })
}

type Exchange = Recording['servers'][string]['exchanges'][number]

function byRequest(recording: Recording, server: string): Map<string, Exchange[]> {
  const found = new Map<string, Exchange[]>()
  const own = Object.hasOwn(recording.servers, server) ? recording.servers[server] : undefined
  for (const exchange of own?.exchanges ?? []) {
    const key = requestKey(exchange.method, exchange.params)
    const same = found.get(key) ?? []
    found.set(key, same)
    same.push(exchange)
  }
  return found
}

/** Requests by which a server is met: who asks makes no difference. */
const meetings: ReadonlySet<string> = new Set([
  'initialize',
  'server/discover',
  'subscriptions/listen',
  'ping',
])

/** One text for requests that are the same, whoever sends them and when. */
export function requestKey(method: string, params: unknown): string {
  return meetings.has(method) ? method : `${method} ${canonical(withoutMeta(params))}`
}
