import { McpError } from '@jackfield/sdk'
import { defined, readJson } from '@jackfield/sdk/internal'
import { FixableError } from '../../shared/failures.ts'
import { canonical, inWords, isDeeper, isRecord, type JsonRecord } from '../../shared/json.ts'
import { oneLine } from '../../shared/text.ts'
import type {
  RecordedExchange,
  RecordedServer,
  Recording,
  ResultChange,
  TraceQuery,
  WholeTraceEvent,
} from '../../types/index.ts'
import type { Events } from './events.ts'

type OpenExchange = { -readonly [K in keyof RecordedExchange]: RecordedExchange[K] } & {
  before: { message: JsonRecord; answer?: JsonRecord }[]
  token: unknown
}

/** Maximum nesting of a recording: that of a message, and of the levels around it. */
const maxDepth = 64 + 8

/**
 * The responses of servers, in the order of their requests.
 * @throws McpError 'INVALID' if there are none, or a message was cut
 */
export function recordingOf(events: Events, query: TraceQuery, now: number): Recording {
  const { filter = '' } = query
  const connections = events.rows(
    { filter: `kind:wire ${filter}` },
    (where) => `SELECT DISTINCT t.server, t.connection FROM trace t WHERE ${where} ORDER BY t.seq`,
  )
  if (connections.length === 0)
    throw new FixableError('INVALID', 'No message of a server matches, so there is nothing to record', [
      { action: 'search-log', filter: 'kind:wire' },
    ])
  const servers: Record<string, RecordedServer> = {}
  for (const { server, connection } of connections) {
    const name = String(server)
    const messages = events.listWhole({
      filter: `kind:wire connection:${JSON.stringify(connection)}`,
      limit: Number.MAX_SAFE_INTEGER,
    })
    const recorded = recordedConnection(messages)
    const before = servers[name]
    servers[name] = {
      revision: recorded.revision ?? before?.revision ?? null,
      exchanges: [...(before?.exchanges ?? []), ...recorded.exchanges],
    }
  }
  return { format: 'jackfield-recording', version: 1, at: new Date(now).toISOString(), servers }
}

/** One connection's requests with all related messages. */
function recordedConnection(messages: readonly WholeTraceEvent[]): RecordedServer {
  const exchanges: OpenExchange[] = []
  const open = new Map<number, OpenExchange>()
  const questions = new Map<number, { answer?: JsonRecord }>()
  let revision: string | null = null
  for (const event of messages) {
    const message = messageOf(event)
    const { method, params, result, error } = message
    const paramsRecord = isRecord(params) ? params : {}
    if (event.direction === 'sent' && typeof method === 'string') {
      if (event.rpcId === null) continue
      revision = revisionIn(paramsRecord) ?? revision
      const token = isRecord(paramsRecord['_meta']) ? paramsRecord['_meta']['progressToken'] : undefined
      const exchange: OpenExchange = { method, params: paramsRecord, before: [], token }
      exchanges.push(exchange)
      open.set(event.id, exchange)
    } else if (typeof method === 'string') {
      const entry: { message: JsonRecord; answer?: JsonRecord } = {
        message: { method, ...(isRecord(params) && { params }) },
      }
      exchangeFor(paramsRecord, open)?.before.push(entry)
      if (event.rpcId !== null) questions.set(event.id, entry)
    } else {
      const answer = isRecord(result) ? { result } : { error }
      const question = event.reply === null ? undefined : questions.get(event.reply)
      if (question !== undefined) question.answer = answer
      const exchange = event.reply === null ? undefined : open.get(event.reply)
      if (event.reply === null || exchange === undefined) continue
      open.delete(event.reply)
      exchange.answer = answer
      if (
        exchange.method === 'initialize' &&
        isRecord(result) &&
        typeof result['protocolVersion'] === 'string'
      )
        revision = result['protocolVersion']
    }
  }
  return { revision, exchanges: exchanges.map(({ token: _, ...exchange }) => exchange) }
}

function messageOf(event: WholeTraceEvent): JsonRecord {
  if (event.cut !== undefined || !isRecord(event.payload)) {
    throw new McpError(
      'INVALID',
      `Event ${event.id} (${event.summary}, ${event.bytes} bytes) was too long to be stored whole, so it cannot be played back. Exclude its connection from the recording.`,
    )
  }
  return event.payload
}

/** The request of a notification or server request: by its token, else the last open one. */
function exchangeFor(params: JsonRecord, open: ReadonlyMap<number, OpenExchange>): OpenExchange | undefined {
  const all = [...open.values()]
  if (params['progressToken'] !== undefined) return all.find(({ token }) => token === params['progressToken'])
  const subscribed = isRecord(params['_meta']) && subscriptionKey in params['_meta']
  return all.findLast(({ method }) => (method === 'subscriptions/listen') === subscribed)
}

/** The member of `_meta` with the subscription id of a notification (2026-07-28). */
export const subscriptionKey = 'io.modelcontextprotocol/subscriptionId'

function revisionIn(params: JsonRecord): string | undefined {
  const meta = params['_meta']
  const version = isRecord(meta) ? meta['io.modelcontextprotocol/protocolVersion'] : undefined
  return typeof version === 'string' ? version : undefined
}

/**
 * Reads a recording from the text of a file.
 * @throws McpError 'INVALID' with the reason
 */
export function parseRecording(text: string): Recording {
  let value: unknown
  try {
    value = readJson(text)
  } catch (error) {
    throw new McpError('INVALID', `It is not JSON: ${error instanceof Error ? error.message : String(error)}`)
  }
  const fail = (what: string): never => {
    throw new FixableError('INVALID', `It is not a recording of Jackfield: ${what}`, [{ action: 'record' }])
  }
  if (isDeeper(value, maxDepth)) return fail('it is nested too deeply')
  if (!isRecord(value) || value['format'] !== 'jackfield-recording') return fail('"format" has another value')
  const { version, at, servers } = value
  if (version !== 1) return fail(`its version is ${oneLine(inWords(version))}, and this Jackfield reads 1`)
  if (!isRecord(servers)) return fail('"servers" is missing')
  const parsedServers = Object.entries(servers).map(([name, server]) => {
    if (!isRecord(server) || !Array.isArray(server['exchanges']))
      return fail(`${oneLine(name)} has no "exchanges"`)
    const { revision, exchanges } = server
    const parsedExchanges = exchanges.map(
      (exchange, index) => exchangeOf(exchange) ?? fail(`exchange ${index} of ${oneLine(name)} is invalid`),
    )
    return [
      name,
      { revision: typeof revision === 'string' ? revision : null, exchanges: parsedExchanges },
    ] as const
  })
  return {
    format: 'jackfield-recording',
    version: 1,
    at: typeof at === 'string' ? at : '',
    servers: Object.fromEntries(parsedServers),
  }
}

function exchangeOf(value: unknown): RecordedExchange | undefined {
  if (!isRecord(value)) return undefined
  const { method, params, before, answer } = value
  if (typeof method !== 'string' || !isRecord(params) || !Array.isArray(before)) return undefined
  const notifications = before.flatMap((one) => (isRecord(one) ? (notificationsOf(one) ?? []) : []))
  if (notifications.length !== before.length) return undefined
  if (answer === undefined) return { method, params, before: notifications }
  const result = answerOf(answer)
  return result && { method, params, before: notifications, answer: result }
}

/** A notification, or a server request with its response; other messages are not replayed. */
function notificationsOf({ message, answer }: JsonRecord): RecordedExchange['before'][number] | undefined {
  if (!isRecord(message)) return undefined
  const { method, params } = message
  if (typeof method !== 'string' || method === '' || !method.isWellFormed()) return undefined
  if (params !== undefined && !isRecord(params)) return undefined
  const result = answer === undefined ? undefined : answerOf(answer)
  if (result === undefined && answer !== undefined) return undefined
  return { message: { method, ...(params !== undefined && { params }) }, ...(result && { answer: result }) }
}

function answerOf(answer: unknown): JsonRecord | undefined {
  if (!isRecord(answer)) return undefined
  const { result, error } = answer
  if (isRecord(result)) return { result }
  const isError =
    isRecord(error) && Number.isSafeInteger(error['code']) && typeof error['message'] === 'string'
  return isError ? { error } : undefined
}

const maxChanges = 200

/** The differences of two JSON values, as JSON Pointers; the first 200. */
export function changesBetween(before: unknown, after: unknown): ResultChange[] {
  const changes: ResultChange[] = []
  const compare = (path: string, a: unknown, b: unknown): void => {
    if (changes.length >= maxChanges || canonical(a) === canonical(b)) return
    const both = (isRecord(a) && isRecord(b)) || (Array.isArray(a) && Array.isArray(b))
    if (!both) {
      changes.push({ path, ...defined({ before: a, after: b }) })
      return
    }
    const [beforeMembers, afterMembers] = [new Map(Object.entries(a)), new Map(Object.entries(b))]
    for (const name of new Set([...beforeMembers.keys(), ...afterMembers.keys()]))
      compare(
        `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`,
        beforeMembers.get(name),
        afterMembers.get(name),
      )
  }
  compare('', before, after)
  return changes
}

/** A value without `_meta`, which belongs to one transmission and not to the content. */
export function withoutMeta(value: unknown): unknown {
  if (!isRecord(value)) return value
  const { _meta: _, ...rest } = value
  return rest
}

/** How often a request occurs in only one of two recordings, or its results in both. */
export interface RecordingChange {
  /** The name of the server in the recordings. */
  readonly server: string
  /** The JSON-RPC method of the request. */
  readonly method: string
  /** The params of the request, without `_meta`. */
  readonly params: Readonly<Record<string, unknown>>
  /** Undefined if both have it. */
  readonly only?: 'first' | 'second'
  /** The differences of the results; empty if only one recording has the request. */
  readonly changes: readonly ResultChange[]
}

/** The differences of two recordings, independent of the order of requests. */
export function recordingChanges(first: Recording, second: Recording): RecordingChange[] {
  const names = new Set([...Object.keys(first.servers), ...Object.keys(second.servers)])
  return [...names].flatMap((server) => {
    const [firstRequests, secondRequests] = [byRequest(first, server), byRequest(second, server)]
    return [...new Set([...firstRequests.keys(), ...secondRequests.keys()])].flatMap((key) => {
      const [before = [], after = []] = [firstRequests.get(key), secondRequests.get(key)]
      return Array.from({ length: Math.max(before.length, after.length) }, (_, index): RecordingChange[] => {
        const [a, b] = [before[index], after[index]]
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
  const recorded = Object.hasOwn(recording.servers, server) ? recording.servers[server] : undefined
  return Map.groupBy(recorded?.exchanges ?? [], ({ method, params }) => requestKey(method, params))
}

/** Methods whose requests count as equal whatever their params: they depend on the client. */
const setupMethods: ReadonlySet<string> = new Set([
  'initialize',
  'server/discover',
  'subscriptions/listen',
  'ping',
])

/** A key that is equal for equal requests, independent of sender and time. */
export function requestKey(method: string, params: unknown): string {
  return setupMethods.has(method) ? method : `${method} ${canonical(withoutMeta(params))}`
}
