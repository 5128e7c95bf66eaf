import type { Readable, Writable } from 'node:stream'
import { limits, McpError } from '@jackfield/sdk'
import { readJson } from '@jackfield/sdk/internal'
import { canonical, inWords, isDeeper, isRecord, type JsonRecord } from '../../shared/json.ts'
import { oneLine } from '../../shared/text.ts'
import type { RecordedExchange, RecordedServer } from '../../types/index.ts'
import { changesBetween, requestKey, subscriptionKey, withoutMeta } from './recording.ts'

/** Options of a playback. */
export interface PlaybackOptions {
  /** Where requests of the client are read: one JSON-RPC message per line. */
  input: Readable
  /** Where responses are written: one JSON-RPC message per line. */
  output: Writable
  /** Called for requests that are not in the recording. */
  onMismatch?: (message: string) => void
}

const methodNotFound = -32601
const invalidParams = -32602
const internalError = -32603
const maxDepth = 64

/**
 * Responds over standard streams as the recorded server did, in its revision, until the input ends. A request is identified by
 * method and params; a repeated one gets its recorded responses in order, the last one repeatedly.
 * @throws McpError 'LIMIT' for a message that is too long
 */
export async function playBack(
  server: RecordedServer,
  { input, output, onMismatch }: PlaybackOptions,
): Promise<void> {
  const timesPlayed = new Map<string, number>()
  const questions = new Map<string, (answer: JsonRecord) => void>()
  let requestCount = 0

  const send = (message: JsonRecord): void => {
    output.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }

  /** The next exchange to play. */
  function next(method: string, params: JsonRecord): RecordedExchange | undefined {
    const key = requestKey(method, params)
    const matching = server.exchanges.filter(
      (exchange) => requestKey(exchange.method, exchange.params) === key,
    )
    const played = timesPlayed.get(key) ?? 0
    timesPlayed.set(key, played + 1)
    return matching[Math.min(played, matching.length - 1)]
  }

  function refuse(id: unknown, method: string, params: JsonRecord): void {
    const sameMethod = server.exchanges.filter((exchange) => exchange.method === method)
    if (method === 'ping' || (method === 'logging/setLevel' && sameMethod.length === 0)) {
      send({ id, result: {} })
      return
    }
    const error =
      sameMethod.length === 0 ? unknownMethod(method, server) : unknownParams(method, params, sameMethod)
    onMismatch?.(error.message)
    send({ id, error })
  }

  async function askAndCompare(message: JsonRecord, expected: JsonRecord): Promise<string | undefined> {
    requestCount += 1
    const id = `recorded-${requestCount}`
    const answered = new Promise<JsonRecord>((resolve) => questions.set(id, resolve))
    send({ id, ...message })
    const answer = await answered
    const [change] = changesBetween(withoutMeta(expected['result']), withoutMeta(answer['result']))
    if (change === undefined) return undefined
    return `The question ${inWords(message['method'])} was answered differently than in the recording, at ${change.path || '/'}: ${short(change.before)} there, ${short(change.after)} here`
  }

  async function serve(id: unknown, method: string, params: JsonRecord): Promise<void> {
    const exchange = next(method, params)
    if (exchange === undefined) return refuse(id, method, params)
    const meta = isRecord(params['_meta']) ? params['_meta'] : {}
    for (const { message, answer } of exchange.before) {
      if (answer === undefined) {
        const expected = adaptNotification(message, id, meta['progressToken'])
        if (expected !== undefined) send(expected)
        continue
      }
      const problem = await askAndCompare(message, answer)
      if (problem !== undefined) {
        onMismatch?.(problem)
        return send({ id, error: { code: internalError, message: problem } })
      }
    }
    if (exchange.answer !== undefined) send({ ...exchange.answer, id })
  }

  for await (const line of linesOf(input)) {
    const message = messageIn(line)
    if (message === undefined) continue
    const { id, method, params } = message
    if (typeof method === 'string') {
      if (typeof id !== 'string' && !Number.isSafeInteger(id)) continue
      serve(id, method, isRecord(params) ? params : {})
    } else {
      questions.get(inWords(id))?.(message)
      questions.delete(inWords(id))
    }
  }
}

/** Splits at line feeds only: other line ends may be part of a message. */
async function* linesOf(input: Readable): AsyncGenerator<string> {
  input.setEncoding('utf8')
  let pieces: string[] = []
  let length = 0
  for await (const chunk of input) {
    const [rest = '', ...others] = String(chunk).split('\n')
    pieces.push(rest)
    length += rest.length
    const last = others.pop()
    if (last !== undefined) {
      yield pieces.join('')
      yield* others
      pieces = [last]
      length = last.length
    }
    if (length > limits.messageBytes) {
      throw new McpError('LIMIT', `The client sent a message of more than ${limits.messageBytes} characters`)
    }
  }
  yield pieces.join('')
}

function messageIn(line: string): JsonRecord | undefined {
  try {
    const value: unknown = readJson(line)
    return isRecord(value) && !isDeeper(value, maxDepth) ? value : undefined
  } catch {
    return undefined
  }
}

/** A notification with the ids of the current request; undefined for progress without a token. */
function adaptNotification(message: JsonRecord, id: unknown, token: unknown): JsonRecord | undefined {
  const params = isRecord(message['params']) ? message['params'] : {}
  if ('progressToken' in params) {
    return token === undefined ? undefined : { ...message, params: { ...params, progressToken: token } }
  }
  const meta = params['_meta']
  if (!isRecord(meta) || !(subscriptionKey in meta)) return message
  return { ...message, params: { ...params, _meta: { ...meta, [subscriptionKey]: id } } }
}

interface Mismatch {
  code: number
  message: string
  data?: unknown
}

function unknownMethod(method: string, { exchanges }: RecordedServer): Mismatch {
  const methods = [...new Set(exchanges.map((exchange) => exchange.method))].join(', ')
  return {
    code: methodNotFound,
    message: oneLine(`The recording has no ${method}. It has ${methods || 'none'}`),
  }
}

function unknownParams(
  method: string,
  params: JsonRecord,
  sameMethod: readonly RecordedExchange[],
): Mismatch {
  const requested = withoutMeta(params)
  const [nearest] = sameMethod
    .map((exchange) => ({ one: exchange, changes: changesBetween(withoutMeta(exchange.params), requested) }))
    .sort((a, b) => a.changes.length - b.changes.length)
  const first = nearest?.changes[0]
  const where =
    first === undefined
      ? ''
      : ` The nearest is ${short(withoutMeta(nearest?.one.params))}; it differs at ${first.path || '/'}: ${short(first.before)} there, ${short(first.after)} here`
  return {
    code: invalidParams,
    message: oneLine(`The recording has no ${method} with these params.${where}`),
    data: { nearest: withoutMeta(nearest?.one.params), changes: nearest?.changes ?? [] },
  }
}

function short(value: unknown): string {
  const text = value === undefined ? 'nothing' : canonical(value)
  return text.length <= 120 ? text : `${text.slice(0, 120)}…`
}
