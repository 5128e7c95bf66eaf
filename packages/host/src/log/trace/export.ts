import { isRecord } from '../../shared/json.ts'
import type { TraceFormat, TraceNode, TraceQuery, WholeTraceEvent } from '../../types/index.ts'
import type { Events } from './events.ts'
import type { SpanIds } from './traceparent.ts'
import { timesOf, treeOf } from './views.ts'

export interface ExportDeps {
  events: Events
  ids: SpanIds
  /** Who says it. */
  creator: { name: string; version: string }
}

/** Events as text in a format that other programs read. */
export function exported(format: TraceFormat, query: TraceQuery, deps: ExportDeps): string {
  switch (format) {
    case 'jsonl':
      return deps.events
        .wholes(query)
        .map((event) => `${JSON.stringify(event)}\n`)
        .join('')
    case 'har':
      return `${JSON.stringify(har(query, deps), null, 1)}\n`
    case 'otlp':
      return `${JSON.stringify(otlp(treeOf(deps.events, query), deps))}\n`
  }
}

interface NameValue {
  name: string
  value: string
}

/** HTTP Archive 1.2. Bodies are those of the messages, where they are known. */
function har({ filter = '', ...query }: TraceQuery, { events, creator }: ExportDeps): object {
  const exchanges = events.wholes({ ...query, filter: `kind:http ${filter}` })
  const requests = exchanges.flatMap(({ cause }) => cause ?? [])
  const sent = new Map(events.wholesOf(requests).map((event) => [event.id, event]))
  const received = new Map(events.answersTo(requests).map((event) => [event.reply, event]))
  return {
    log: {
      version: '1.2',
      creator,
      entries: exchanges.map((exchange) =>
        entryOf(exchange, sent.get(exchange.cause ?? 0), received.get(exchange.cause)),
      ),
    },
  }
}

function entryOf(
  exchange: WholeTraceEvent,
  asked: WholeTraceEvent | undefined,
  answer: WholeTraceEvent | undefined,
): object {
  const facts = isRecord(exchange.payload) ? exchange.payload : {}
  const request = isRecord(facts['request']) ? facts['request'] : {}
  const response = isRecord(facts['response']) ? facts['response'] : {}
  const [sentHeaders, gotHeaders] = [headersOf(request['headers']), headersOf(response['headers'])]
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
      headers: gotHeaders,
      content: {
        size: answer?.bytes ?? 0,
        mimeType: mimeOf(gotHeaders),
        ...(content !== undefined && { text: content }),
      },
      redirectURL: gotHeaders.find(({ name }) => name === 'location')?.value ?? '',
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

/** Kinds of spans, by the numbers of the OpenTelemetry protocol. */
const internal = 1
const client = 3
/** Codes of a span's status. */
const unset = 0
const failed = 2

/**
 * Traces as OTLP/JSON: every activity and every request is a span, inside of what caused it.
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
          attributes: [text('service.name', creator.name), text('service.version', creator.version)],
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
    text('jackfield.event.kind', kind),
    { key: 'jackfield.event.id', value: { intValue: String(id) } },
    ...(activity === null ? [] : [{ key: 'jackfield.activity.id', value: { intValue: String(activity) } }]),
    ...(server === null ? [] : [text('jackfield.server', server)]),
    ...(method === null ? [] : [text('mcp.method.name', method)]),
    ...(method === 'tools/call' && tool !== null ? [text('gen_ai.tool.name', tool)] : []),
    ...(method === 'prompts/get' && tool !== null ? [text('gen_ai.prompt.name', tool)] : []),
    ...(method === 'resources/read' && tool !== null ? [text('mcp.resource.uri', tool)] : []),
    ...(rpcId === null ? [] : [text('jsonrpc.request.id', rpcId)]),
    ...(status === null ? [] : [text('jackfield.outcome', status)]),
  ]
}

function text(key: string, value: string): object {
  return { key, value: { stringValue: value } }
}

function nanos(ms: number): string {
  return `${BigInt(Math.round(ms * 1_000)) * 1_000n}`
}
