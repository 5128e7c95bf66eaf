import { isRecord } from '../../shared/json.ts'
import type {
  TraceEvent,
  TraceFormat,
  TraceLane,
  TraceNode,
  TracePair,
  TraceQuery,
  WholeTraceEvent,
} from '../../types/index.ts'
import type { Events } from './events.ts'
import type { SpanIds } from './tap.ts'

interface ExportDeps {
  events: Events
  ids: SpanIds
  /** The producer of the export. */
  creator: { name: string; version: string }
}

/** Maximum events of an export as a tree, unless the query has a limit. */
const maxTreeEvents = 100_000
/** Events read at once, and their approximate maximum bytes. */
const maxBatchEvents = 16
const maxBatchBytes = 262_144

/** Events as text in formats for other programs. Other work of the program runs between two chunks. */
export async function* exported(
  format: TraceFormat,
  query: TraceQuery,
  deps: ExportDeps,
): AsyncGenerator<string, void, undefined> {
  switch (format) {
    case 'jsonl':
      for await (const events of batches(query, deps.events))
        yield events.map((event) => `${JSON.stringify(event)}\n`).join('')
      return
    case 'har':
      return yield* har(query, deps)
    case 'otlp':
      yield `${JSON.stringify(otlp(treeOf(deps.events, { limit: maxTreeEvents, ...query }), deps))}\n`
  }
}

/** The current events of a query, oldest first, in batches. */
async function* batches(
  query: TraceQuery,
  events: Events,
): AsyncGenerator<WholeTraceEvent[], void, undefined> {
  let [after, last] = events.range(query)
  let count = 1
  while (after < last) {
    const batch = events
      .listWhole({ filter: query.filter ?? '', after, limit: count })
      .filter(({ id }) => id <= last)
    const newest = batch.at(-1)
    if (newest === undefined) return
    yield batch
    after = newest.id
    const bytes = batch.reduce((sum, event) => sum + event.bytes, 1)
    count = Math.max(1, Math.min(maxBatchEvents, Math.floor((maxBatchBytes * batch.length) / bytes)))
    await new Promise((resolve) => setImmediate(resolve))
  }
}

interface NameValue {
  name: string
  value: string
}

/** HTTP Archive 1.2. Bodies are those of the messages, if known. */
async function* har(
  { filter = '', ...query }: TraceQuery,
  { events, creator }: ExportDeps,
): AsyncGenerator<string, void, undefined> {
  yield `{"log":{"version":"1.2","creator":${JSON.stringify(creator)},"entries":[`
  let separator = '\n'
  for await (const exchanges of batches({ ...query, filter: `kind:http ${filter}` }, events)) {
    const requests = exchanges.flatMap(({ cause }) => cause ?? [])
    const sent = new Map(events.wholeByIds(requests).map((event) => [event.id, event]))
    const received = new Map(events.answersTo(requests).map((event) => [event.reply, event]))
    const entries = exchanges.map((exchange) =>
      JSON.stringify(entryOf(exchange, sent.get(exchange.cause ?? 0), received.get(exchange.cause))),
    )
    yield separator + entries.join(',\n')
    separator = ',\n'
  }
  yield '\n]}}\n'
}

function entryOf(
  exchange: WholeTraceEvent,
  asked: WholeTraceEvent | undefined,
  answer: WholeTraceEvent | undefined,
): object {
  const facts = isRecord(exchange.payload) ? exchange.payload : {}
  const request = isRecord(facts['request']) ? facts['request'] : {}
  const response = isRecord(facts['response']) ? facts['response'] : {}
  const [sentHeaders, receivedHeaders] = [headersOf(request['headers']), headersOf(response['headers'])]
  const url = String(request['url'])
  const body = textOf(asked)
  const content = textOf(answer)
  const ms = exchange.durationMs ?? 0
  return {
    startedDateTime: new Date(timesOf(exchange).fromMs).toISOString(),
    time: ms,
    request: {
      method: String(request['method']),
      url,
      httpVersion: 'HTTP/1.1',
      cookies: [],
      headers: sentHeaders,
      queryString: [...(URL.parse(url)?.searchParams ?? [])].map(([name, value]) => ({ name, value })),
      ...(body !== undefined && { postData: { mimeType: mimeOf(sentHeaders), text: body } }),
      headersSize: -1,
      bodySize: Number(request['bytes'] ?? -1),
    },
    response: {
      status: Number(response['status'] ?? 0),
      statusText: String(response['statusText'] ?? ''),
      httpVersion: 'HTTP/1.1',
      cookies: [],
      headers: receivedHeaders,
      content: {
        size: answer?.bytes ?? 0,
        mimeType: mimeOf(receivedHeaders),
        ...(content !== undefined && { text: content }),
      },
      redirectURL: receivedHeaders.find(({ name }) => name === 'location')?.value ?? '',
      headersSize: -1,
      bodySize: -1,
      ...(typeof facts['error'] === 'string' && { comment: facts['error'] }),
    },
    cache: {},
    timings: { send: 0, wait: ms, receive: 0 },
  }
}

function headersOf(headers: unknown): NameValue[] {
  return isRecord(headers)
    ? Object.entries(headers).map(([name, value]) => ({ name, value: String(value) }))
    : []
}

function mimeOf(headers: readonly NameValue[]): string {
  return headers.find(({ name }) => name === 'content-type')?.value ?? 'x-unknown'
}

function textOf(event: WholeTraceEvent | undefined): string | undefined {
  if (event === undefined) return undefined
  return typeof event.payload === 'string' ? event.payload : JSON.stringify(event.payload)
}

/** Span kinds of the OpenTelemetry protocol. */
const internal = 1
const client = 3
/** Status codes of the OpenTelemetry protocol. */
const unset = 0
const failed = 2

/**
 * Traces as OTLP/JSON: every activity and every request is a span, with its cause as the parent.
 * @see https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
 */
function otlp(roots: readonly TraceNode[], { ids, creator }: ExportDeps): object {
  const spans: object[] = []
  const add = ({ event, children }: TraceNode, traceId: string, parent: string | undefined): void => {
    const isSpan =
      event.activity !== null || (event.kind === 'wire' && event.rpcId !== null && event.reply === null)
    const spanId = ids.span(event.id)
    if (isSpan) {
      const answer = children.find((child) => child.event.reply === event.id)?.event
      const { fromMs, toMs } = timesOf(event)
      const status = answer?.status ?? event.status
      const notes = children.filter(({ event: child }) => isNote(child))
      spans.push({
        traceId,
        spanId,
        ...(parent !== undefined && { parentSpanId: parent }),
        name: nameOf(event),
        kind: event.kind === 'wire' ? client : internal,
        startTimeUnixNano: nanos(fromMs),
        endTimeUnixNano: nanos(answer === undefined ? toMs : Math.max(fromMs, timesOf(answer).toMs)),
        attributes: attributesOf(event),
        events: notes.map(({ event: note }) => ({
          timeUnixNano: nanos(Date.parse(note.at)),
          name: note.kind === 'wire' ? String(note.method) : note.kind,
          attributes: [],
        })),
        status: status === 'error' ? { code: failed, message: event.summary } : { code: unset },
      })
    }
    for (const child of children) add(child, traceId, isSpan ? spanId : parent)
  }
  for (const root of roots) add(root, ids.trace(root.event.id), undefined)
  return {
    resourceSpans: [
      {
        resource: {
          attributes: [
            stringAttribute('service.name', creator.name),
            stringAttribute('service.version', creator.version),
          ],
        },
        scopeSpans: [{ scope: { name: '@jackfield/host', version: creator.version }, spans }],
      },
    ],
  }
}

function isNote({ kind, rpcId }: TraceNode['event']): boolean {
  return kind === 'stderr' || kind === 'warning' || (kind === 'wire' && rpcId === null)
}

function nameOf({ kind, method, tool, summary }: TraceNode['event']): string {
  if (method === null) return kind === 'model' ? `chat ${summary}` : `${kind} ${summary}`
  return tool === null ? method : `${method} ${tool}`
}

function attributesOf({
  id,
  kind,
  method,
  tool,
  server,
  activity,
  status,
  rpcId,
}: TraceNode['event']): object[] {
  return [
    stringAttribute('jackfield.event.kind', kind),
    { key: 'jackfield.event.id', value: { intValue: String(id) } },
    ...(activity === null ? [] : [{ key: 'jackfield.activity.id', value: { intValue: String(activity) } }]),
    ...(server === null ? [] : [stringAttribute('jackfield.server', server)]),
    ...(method === null ? [] : [stringAttribute('mcp.method.name', method)]),
    ...(method === 'tools/call' && tool !== null ? [stringAttribute('gen_ai.tool.name', tool)] : []),
    ...(method === 'prompts/get' && tool !== null ? [stringAttribute('gen_ai.prompt.name', tool)] : []),
    ...(method === 'resources/read' && tool !== null ? [stringAttribute('mcp.resource.uri', tool)] : []),
    ...(rpcId === null ? [] : [stringAttribute('jsonrpc.request.id', rpcId)]),
    ...(status === null ? [] : [stringAttribute('jackfield.outcome', status)]),
  ]
}

function stringAttribute(key: string, value: string): object {
  return { key, value: { stringValue: value } }
}

function nanos(ms: number): string {
  return `${BigInt(Math.round(ms * 1_000)) * 1_000n}`
}

/** Maximum depth of causes, since a store may contain cycles. */
const maxDepth = 64

/** Events below their causes, with all their effects. */
export function treeOf(events: Events, query: TraceQuery): TraceNode[] {
  const listed = events.list(query)
  const matched = new Set(listed.map(({ id }) => id))
  const all = new Map(listed.map((event) => [event.id, event]))
  const addNew = (more: readonly TraceEvent[]): TraceEvent[] =>
    more.filter((event) => {
      if (all.has(event.id)) return false
      all.set(event.id, event)
      return true
    })
  let below = listed
  for (let depth = 0; below.length > 0 && depth < maxDepth; depth++) {
    below = addNew(events.effectsOf(below.map(({ id }) => id)))
    for (const { id } of below) matched.add(id)
  }
  let above = listed
  for (let depth = 0; above.length > 0 && depth < maxDepth; depth++) {
    above = addNew(events.byIds(above.flatMap((event) => parentOf(event) ?? [])))
  }
  const inOrder = [...all.values()].sort((a, b) => a.id - b.id)
  const children = Map.groupBy(inOrder, (event) => {
    const parent = parentOf(event)
    // An event before its supposed cause belongs to no tree.
    return parent !== null && all.has(parent) && parent < event.id ? parent : null
  })
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

/** A timeline with one lane for each server and one for everything else. */
export function timelineOf(events: Events, query: TraceQuery): TraceLane[] {
  const lanes = new Map<string | null, { event: TraceEvent; fromMs: number; toMs: number }[]>()
  const listed = events.list(query)
  // A response has the start and duration of its request.
  const answered = new Set(listed.map(({ reply }) => reply))
  const known = new Map(listed.map((event) => [event.id, event]))
  for (const event of listed) {
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

/** The start of the cause: times are whole milliseconds and durations are not, so it may appear earlier. */
function earliestOf(event: TraceEvent, known: ReadonlyMap<number, TraceEvent>): number {
  const request = event.reply === null ? event : known.get(event.reply)
  const cause = known.get(request?.cause ?? event.cause ?? -1)
  return cause === undefined || cause === event ? Number.NEGATIVE_INFINITY : timesOf(cause).fromMs
}

/** Start and end of an event. One that is logged at its end has its duration. */
function timesOf(event: TraceEvent): { fromMs: number; toMs: number } {
  const at = Date.parse(event.at)
  const ms = event.durationMs ?? 0
  const isEnd = event.activity === null || event.kind === 'model'
  return isEnd ? { fromMs: at - ms, toMs: at } : { fromMs: at, toMs: at + ms }
}

/** Requests with their responses; a response that matches alone includes its request. */
export function pairsOf(events: Events, { filter = '', ...query }: TraceQuery): TracePair[] {
  const messages = events.listWhole({ ...query, filter: `kind:wire ${filter}` })
  const byId = new Map(messages.map((event) => [event.id, event]))
  const missing = messages.flatMap(({ reply }) => (reply !== null && !byId.has(reply) ? [reply] : []))
  for (const event of events.wholeByIds(missing)) byId.set(event.id, event)
  const firsts = [...byId.values()].filter(({ reply }) => reply === null || !byId.has(reply))
  const requestIds = firsts.filter(({ rpcId, reply }) => rpcId !== null && reply === null).map(({ id }) => id)
  const answers = new Map(events.answersTo(requestIds).map((answer) => [answer.reply, answer]))
  return firsts
    .sort((a, b) => a.id - b.id)
    .map((message) => {
      const answer = answers.get(message.id)
      return answer === undefined ? { message } : { message, answer }
    })
}
