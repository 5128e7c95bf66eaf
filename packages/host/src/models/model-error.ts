import { McpError } from '@jackfield/sdk'
import { isRecord } from '../shared/json.ts'
import type { Fix } from '../types/index.ts'
import { nearNames } from './listed-models.ts'
import { ConnectionCutError, ResponseTooLargeError, WebPageError } from './provider-fetch.ts'

/** Why a model request failed. */
export type ModelErrorKind =
  /** The key is missing, invalid or lacks access to this model. */
  | 'key'
  /** The provider has no such model. */
  | 'unknown-model'
  /** Too many requests, or the account has no more credit. */
  | 'limit'
  /** The provider rejected the request, for example because it is too long. */
  | 'request'
  /** The provider could not be reached or is out of order. */
  | 'unavailable'
  /** The provider withheld the reply. */
  | 'withheld'
  | 'other'

/** A failed model request; the message has the model and the reason. */
export class ModelError extends Error {
  override readonly name: string = 'ModelError'
  /** The kind of failure. */
  readonly kind: ModelErrorKind
  /** The user's name for the model. */
  readonly model: string
  /** Milliseconds after which the provider asks for a retry, if it sends one. */
  readonly retryAfterMs: number | undefined
  /** The HTTP status of the provider's response, if there was one. */
  readonly status: number | undefined
  /** Whether the same request may succeed later. */
  readonly passes: boolean
  /** Whether the provider may have rejected an image, audio or a file rather than the whole request. */
  readonly mayConcernMedia: boolean

  constructor(
    kind: ModelErrorKind,
    model: string,
    message: string,
    options: {
      cause?: unknown
      retryAfterMs?: number | undefined
      passes?: boolean
      mayConcernMedia?: boolean
      status?: number | undefined
    } = {},
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause })
    this.kind = kind
    this.model = model
    this.retryAfterMs = options.retryAfterMs
    this.passes = options.passes ?? (kind === 'limit' || kind === 'unavailable')
    this.status = options.status
    this.mayConcernMedia = options.mayConcernMedia ?? false
  }

  /** What the user can do about it, besides what is in the message. */
  get fixes(): readonly Fix[] {
    return this.kind === 'unknown-model' ? [{ action: 'choose-model' }] : []
  }
}

/** The variables of a model's settings, for messages that suggest a correction. */
export interface ModelSettings {
  /** The variable of the key, set or not; undefined if the provider needs no key. */
  key?: string
  /** The variable of the address, set or not. */
  baseURL?: string
  /** What to set instead if the server has another API than the expected one. */
  otherApi?: string
}

/** Additional data about a model when its provider fails. */
interface ErrorContext {
  key?: string | undefined
  settings?: ModelSettings | undefined
  /** The models that the provider lists, if it was asked. */
  listed?: readonly string[] | undefined
}

interface Failure {
  status: number | undefined
  text: string
  url: URL | undefined
  code: string | undefined
  retryAfterMs: number | undefined
}

/** Says that another path than the requested one serves the model. */
const otherPathPattern = /\bv1\/(?:responses|chat\/completions)\b|\bresponses api\b|\bnot a chat model\b/i
/** Maximum depth of causes examined. */
const maxCauseDepth = 5
/** Nothing listens at the address, so a retry is useless. */
const unreachableCodes: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN'])

/** Converts any error of a provider to a `ModelError`, whose message does not contain the key. */
export function toModelError(id: string, error: unknown, context: ErrorContext = {}): ModelError {
  if (error instanceof ModelError) return error
  const { key } = context
  const failure = readFailure(innermost(error), (text) =>
    key === undefined ? text : text.replaceAll(key, '[API key]'),
  )
  const create: CreateError = (kind, message, passes) =>
    new ModelError(kind, id, message, {
      cause: error,
      retryAfterMs: failure.retryAfterMs,
      status: failure.status,
      mayConcernMedia: mayBeAboutMedia(failure),
      ...(passes !== undefined && { passes }),
    })
  const known = unusableAnswerError(id, error, context)
  if (known !== undefined) return known
  return failure.status === undefined
    ? noStatusError(id, failure, context, create)
    : statusError(id, failure.status, failure, context, create)
}

type CreateError = (kind: ModelErrorKind, message: string, passes?: boolean) => ModelError

/** The error of a response that cannot be used, or of a proxy; undefined for any other. */
function unusableAnswerError(
  id: string,
  error: unknown,
  { settings = {} }: ErrorContext,
): ModelError | undefined {
  const address = addressOf(settings)
  const createError = (kind: ModelErrorKind, message: string): ModelError =>
    new ModelError(kind, id, message, { cause: error })
  const tooLarge = errorsIn(error).find((one) => one instanceof ResponseTooLargeError)
  if (tooLarge !== undefined)
    return createError(
      'other',
      `${id} gave an answer that was cut off: ${tooLarge.message}. Check ${address}, or ask for less.`,
    )
  if (errorsIn(error).some((one) => one instanceof WebPageError))
    return createError(
      'other',
      `${id} answered with a web page, not with a model's answer: check ${address}.`,
    )
  const proxyError = errorsIn(error).find((one) => one instanceof McpError)
  if (proxyError !== undefined) {
    const message = `${id} cannot be reached. ${proxyError.message}.`
    return new ModelError('unavailable', id, message, {
      cause: error,
      passes: isTransientProxyError(proxyError),
    })
  }
  if (isCutOff(error))
    return createError(
      'unavailable',
      `${id}: the connection ended before the answer was complete. Try again.`,
    )
  if (isMalformed(error))
    return createError(
      'other',
      `${id} answered with something that is not a model's answer: check ${address}.`,
    )
  return undefined
}

function addressOf({ baseURL }: ModelSettings): string {
  return baseURL ?? 'the base URL'
}

function providerText({ text }: Failure): string {
  return text === '' ? '' : ` The provider says: ${text}`
}

/** The error of a request without a response. */
function noStatusError(
  id: string,
  failure: Failure,
  { settings = {} }: ErrorContext,
  create: CreateError,
): ModelError {
  const address = addressOf(settings)
  const quote = providerText(failure)
  const hostText = failure.url?.host ?? 'its provider'
  if (failure.code !== undefined) {
    return create(
      'unavailable',
      `${id} cannot be reached: ${hostText} does not answer (${failure.code}). Check the network and ${address}.`,
      !unreachableCodes.has(failure.code),
    )
  }
  if (/api key/i.test(failure.text)) return create('key', `${id} has no API key. ${failure.text}`)
  if (/overloaded/i.test(failure.text)) {
    return create('unavailable', `${id} is overloaded at its provider. Try again later.${quote}`)
  }
  if (/rate.?limit/i.test(failure.text)) return create('limit', `${id} is over its limit.${quote}`)
  return create('other', `${id} returned no answer.${quote}`)
}

/** The error of a response by its HTTP status. */
function statusError(
  id: string,
  status: number,
  failure: Failure,
  { key, settings = {}, listed: listedModels }: ErrorContext,
  create: CreateError,
): ModelError {
  const address = addressOf(settings)
  const quote = providerText(failure)
  const { retryAfterMs } = failure
  if (status < 300) {
    return create('other', `${id} answered with something that is not a model's answer: check ${address}.`)
  }
  if (status < 400) {
    return create(
      'other',
      `${id} cannot be reached: its provider redirects to another address (HTTP ${status}), which is not followed. Correct ${address}.${quote}`,
    )
  }
  if (status === 401 || status === 403) {
    if (key === undefined && settings.key !== undefined) {
      return create('key', `${id} requires an API key (HTTP ${status}). Set ${settings.key}.${quote}`)
    }
    return create(
      'key',
      `${id} refused the API key (HTTP ${status}). Check ${settings.key ?? 'the key'} and what the key may use.${quote}`,
    )
  }
  const model = id.slice(id.indexOf('/') + 1)
  const host = failure.url?.host ?? 'its provider'
  const path = failure.url?.pathname ?? 'the path that was asked'
  const otherApi = settings.otherApi === undefined ? '' : ` ${settings.otherApi}`
  if (status < 500 && otherPathPattern.test(failure.text)) {
    return create(
      'request',
      `${id}: ${host} does not serve this model at ${path} (HTTP ${status}).${otherApi}${quote}`,
    )
  }
  if (status === 405 || (status === 404 && listedModels?.includes(model) === true)) {
    return create('request', `${id}: ${host} has no ${path} (HTTP ${status}).${otherApi}${quote}`)
  }
  if (status === 404 && listedModels === undefined && !/model/i.test(failure.text)) {
    const urlHint = /\/v\d/.test(path) ? '' : ', which usually ends in /v1'
    const reason = `either ${host} has no ${path}, or it does not know the model`
    return create(
      'request',
      `${id} was not found (HTTP 404): ${reason}. Correct ${address}${urlHint}.${otherApi}${quote}`,
    )
  }
  if (status === 404) {
    const provider = id.slice(0, id.indexOf('/') + 1)
    const nearest = nearNames(model, listedModels ?? []).map((name) => oneLine(`${provider}${name}`))
    const suggestions = nearest.length === 0 ? '' : ` Near names: ${nearest.join(', ')}.`
    return create('unknown-model', `${id} is not known to its provider (HTTP 404).${suggestions}${quote}`)
  }
  if (status === 402 || status === 429) {
    return create(
      'limit',
      `${id} is over its limit (HTTP ${status}). ${retryAdvice(retryAfterMs)}.${quote}`,
      status === 429,
    )
  }
  if (status >= 500) {
    return create('unavailable', `${id} failed at its provider (HTTP ${status}). Try again later.${quote}`)
  }
  return create('request', `${id} rejected the request (HTTP ${status}).${quote}`)
}

/** The AI SDK has no error type for a stream that ends early. */
function isCutOff(error: unknown): boolean {
  return errorsIn(error).some(
    (one) =>
      one instanceof ConnectionCutError ||
      /\bended without a finish (?:reason|chunk)\b/.test(one.message) ||
      (one.name === 'TypeError' && one.message === 'terminated'),
  )
}

/** A proxy that cannot connect to a host may succeed a moment later; its other failures are permanent. */
function isTransientProxyError({ details }: McpError): boolean {
  return /^PROXY_50[234]$/.test(String(details['code']))
}

/** A response with status 200 that is no JSON, or of another form. */
function isMalformed(error: unknown): boolean {
  return errorsIn(error).some(
    (one) =>
      ['AI_JSONParseError', 'AI_TypeValidationError', 'AI_InvalidResponseDataError', 'SyntaxError'].includes(
        one.name,
      ) || one.message === 'Expected a normalized Anthropic stream error',
  )
}

/** Servers reject media with any status; messages for an invalid request may not give the reason. */
function mayBeAboutMedia({ status, text }: Failure): boolean {
  if (status === undefined || status < 400 || [401, 402, 403, 429].includes(status)) return false
  if (status === 400 || status === 413 || status === 415 || status === 422) return true
  return /\b(?:images?|image_url|audio|input_audio|vision|multi-?modal|mmproj|pdf|media type|file parts?)\b/i.test(
    text,
  )
}

/** The error with a status or a system code: for retries in the last one, else in the deepest cause. */
function innermost(error: unknown): unknown {
  const errors = errorsIn(error)
  return (
    errors.find((one) => 'statusCode' in one && typeof one.statusCode === 'number') ?? errors.at(-1) ?? error
  )
}

/** An error and its causes. */
function errorsIn(error: unknown): Error[] {
  const errors: Error[] = []
  for (let current = error; current instanceof Error && errors.length <= maxCauseDepth; ) {
    errors.push(current)
    current = 'lastError' in current ? current.lastError : current.cause
  }
  return errors
}

function readFailure(error: unknown, redact: (text: string) => string): Failure {
  if (!(error instanceof Error)) {
    const text = oneLine(redact([typeOf(error), messageOf(error)].filter((part) => part !== '').join(': ')))
    return { status: undefined, text, url: undefined, code: undefined, retryAfterMs: undefined }
  }
  const status = 'statusCode' in error && typeof error.statusCode === 'number' ? error.statusCode : undefined
  const url = 'url' in error && typeof error.url === 'string' ? error.url : undefined
  return {
    status,
    text: oneLine(redact(error.message)),
    url: url === undefined ? undefined : (URL.parse(url) ?? undefined),
    code: 'code' in error && typeof error.code === 'string' ? error.code : undefined,
    retryAfterMs: 'responseHeaders' in error ? retryAfter(error.responseHeaders) : undefined,
  }
}

/** The value of `retry-after-ms` or `retry-after` in milliseconds; the latter is in seconds or a date. */
function retryAfter(headers: unknown): number | undefined {
  if (!isRecord(headers)) return undefined
  const { 'retry-after-ms': milliseconds, 'retry-after': rough } = headers
  const ms = typeof milliseconds === 'string' ? Number(milliseconds) : Number.NaN
  if (Number.isFinite(ms) && ms >= 0) return ms
  if (typeof rough !== 'string') return undefined
  const seconds = Number(rough)
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1_000)
  const date = Date.parse(rough)
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now())
}

function retryAdvice(retryAfterMs: number | undefined): string {
  if (retryAfterMs === undefined || retryAfterMs < 60_000) return "Wait, or check the account's quota"
  return `Try again in ${Math.ceil(retryAfterMs / 60_000)} min, or use another model`
}

function typeOf(error: unknown): string {
  return isRecord(error) && typeof error.type === 'string' ? error.type : ''
}

function messageOf(error: unknown): string {
  if (typeof error === 'string') return error
  return isRecord(error) && typeof error.message === 'string' ? error.message : ''
}

function oneLine(text: string): string {
  const flat = text.replace(/\s+/g, ' ').trim()
  return flat.length > 500 ? `${flat.slice(0, 500)}…` : flat
}
