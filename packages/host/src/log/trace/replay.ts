import { McpError } from '@jackfield/sdk'
import { FixableError } from '../../shared/failures.ts'
import { inWords, isDeeper, isRecord, type JsonRecord } from '../../shared/json.ts'
import type { Host, Replay, ReplayRequest, WholeTraceEvent } from '../../types/index.ts'
import type { Events } from './events.ts'
import { changesBetween, withoutMeta } from './recording.ts'

/** Maximum nesting depth for replay; deeper values cannot be compared completely. */
const maxDepth = 256

const methods: readonly ReplayRequest['method'][] = ['tools/call', 'resources/read', 'prompts/get']

/**
 * The request of an event, to be repeated.
 * @throws McpError 'NOT_FOUND' for an unknown event, 'INVALID' if it has no request that can be repeated
 */
export function requestOf(events: Events, id: number): ReplayRequest {
  const event = events.get(id)
  if (event === undefined) throw new McpError('NOT_FOUND', `There is no event ${id} in the log`)
  const method = methods.find((known) => known === event.method)
  if (method === undefined || event.server === null || event.kind === 'http') {
    throw new FixableError('INVALID', `Event ${id} (${event.summary}) is not a call, read or prompt`, [
      { action: 'search-log', filter: 'kind:call,read,prompt' },
    ])
  }
  if (event.activity !== null) return ofRow(events, event, method)
  if (event.reply !== null) return requestOf(events, event.reply)
  const row = event.cause === null ? undefined : events.get(event.cause)
  if (row?.activity != null && row.method === method) return ofRow(events, row, method)
  return ofMessage(event, method, events.answersTo([id])[0])
}

function ofRow(events: Events, event: WholeTraceEvent, method: ReplayRequest['method']): ReplayRequest {
  const detail = isRecord(event.payload) ? event.payload : {}
  const cut = isRecord(detail['cut']) ? detail['cut'] : {}
  if ('arguments' in cut || 'sent' in cut) {
    const message = events
      .effectsOf([event.id])
      .find(({ kind, direction }) => kind === 'wire' && direction === 'sent')
    const sent = message && events.get(message.id)
    if (sent === undefined) throw cutError(event)
    return ofMessage(sent, method, events.answersTo([sent.id])[0])
  }
  const result = 'result' in cut ? undefined : detail['result']
  return requestWith(event, method, detail['sent'] ?? detail['arguments'], result)
}

function ofMessage(
  event: WholeTraceEvent,
  method: ReplayRequest['method'],
  answer: WholeTraceEvent | undefined,
): ReplayRequest {
  const params = isRecord(event.payload) ? event.payload['params'] : undefined
  if (event.cut !== undefined || !isRecord(params)) throw cutError(event)
  const result = answer !== undefined && isRecord(answer.payload) ? answer.payload['result'] : undefined
  return requestWith(event, method, params['arguments'], isRecord(result) ? result : undefined)
}

function requestWith(
  { server, tool }: WholeTraceEvent,
  method: ReplayRequest['method'],
  args: unknown,
  result: unknown,
): ReplayRequest {
  return {
    method,
    server: String(server),
    target: String(tool),
    arguments: isRecord(args) ? args : {},
    ...(result !== undefined && { result }),
  }
}

function cutError({ id, summary }: WholeTraceEvent): McpError {
  return new McpError(
    'INVALID',
    `Event ${id} (${summary}) was too long to be stored whole, so it cannot be repeated`,
  )
}

type ReplayHost = Pick<Host, 'call' | 'read' | 'prompt' | 'tools' | 'prompts'>

/** Repeats a request as a request of the user, and compares the results. */
export async function replay(
  host: ReplayHost,
  request: ReplayRequest,
  { signal }: { signal?: AbortSignal } = {},
): Promise<Replay> {
  if (isDeeper([request.arguments, request.result], maxDepth))
    throw new McpError('INVALID', 'The request is nested too deeply to be repeated')
  const until = signal === undefined ? {} : { signal }
  const { result, denied } = await perform(host, request, until)
  const { result: before } = request
  if (before === undefined || denied) return { request, result, denied }
  return { request, result, denied, changes: changesBetween(comparable(before), comparable(result)) }
}

async function perform(
  host: ReplayHost,
  { method, server, target, arguments: args }: ReplayRequest,
  until: { signal?: AbortSignal },
): Promise<Pick<Replay, 'result' | 'denied'>> {
  if (method === 'resources/read') return { result: await host.read(server, target, until), denied: false }
  if (method === 'prompts/get') {
    const entry = host
      .prompts()
      .find((candidate) => candidate.server === server && candidate.prompt.name === target)
    if (entry === undefined) throw unknown('prompt', server, target)
    return { result: await host.prompt(entry.name, texts(args), until), denied: false }
  }
  const entry = host
    .tools()
    .find((candidate) => candidate.server === server && candidate.tool.name === target)
  if (entry === undefined) throw unknown('tool', server, target)
  const { result, denied, error } = await host.call(
    entry.name,
    { ...args },
    { caller: 'person', typed: true, ...until },
  )
  if (error !== undefined)
    throw new McpError('PROTOCOL', `${target} of ${server} returned no result: ${error.message}`)
  return { result, denied }
}

function unknown(what: string, server: string, name: string): McpError {
  return new McpError('NOT_FOUND', `${server} has no ${what} "${name}" now`)
}

function texts(args: Readonly<JsonRecord>): Record<string, string> {
  return Object.fromEntries(Object.entries(args).map(([name, value]) => [name, inWords(value)]))
}

/** A result without members that can differ between equal results. */
function comparable(result: unknown): unknown {
  const value = withoutMeta(result)
  if (!isRecord(value)) return value
  const { resultType: _, ttlMs: __, cacheScope: ___, ...rest } = value
  return rest
}
