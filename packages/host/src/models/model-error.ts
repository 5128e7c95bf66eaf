/** Why a model gave no answer. */
export type ModelErrorKind =
  /** The key is missing, wrong or not allowed to use this model. */
  | 'key'
  /** The provider does not know the model. */
  | 'unknown-model'
  /** Too many requests, or the account has no more credit. */
  | 'limit'
  /** The provider rejected the request, for example because it is too long. */
  | 'request'
  /** The provider could not be reached or is out of order. */
  | 'unavailable'
  /** The provider withheld the answer. */
  | 'withheld'
  | 'other'

/** A model gave no answer; the message says which, why, and what to do next. */
export class ModelError extends Error {
  override readonly name: string = 'ModelError'
  readonly kind: ModelErrorKind
  /** The model as the person names it. */
  readonly model: string

  constructor(kind: ModelErrorKind, model: string, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.kind = kind
    this.model = model
  }
}

interface Failure {
  status: number | undefined
  text: string
  host: string | undefined
  code: string | undefined
}

/** Turns whatever a provider threw into a `ModelError`. */
export function toModelError(id: string, error: unknown): ModelError {
  if (error instanceof ModelError) return error
  const failure = read(innermost(error))
  const said = failure.text === '' ? '' : ` The provider says: ${failure.text}`
  const make = (kind: ModelErrorKind, message: string): ModelError =>
    new ModelError(kind, id, message, { cause: error })

  if (failure.status === undefined) {
    const where = failure.host === undefined ? 'its provider' : failure.host
    if (failure.code !== undefined) {
      return make(
        'unavailable',
        `${id} cannot be reached: ${where} does not answer (${failure.code}). Check the network and the base URL.`,
      )
    }
    if (/api key/i.test(failure.text)) return make('key', `${id} has no API key. ${failure.text}`)
    return make('other', `${id} gave no answer.${said}`)
  }
  const status = failure.status
  if (status === 401 || status === 403) {
    return make(
      'key',
      `${id} refused the API key (HTTP ${status}). Check the key and what it may use.${said}`,
    )
  }
  if (status === 404) {
    return make(
      'unknown-model',
      `${id} is not known to its provider (HTTP 404). Choose another with JACKFIELD_MODEL=provider/model.${said}`,
    )
  }
  if (status === 402 || status === 429) {
    return make(
      'limit',
      `${id} is over its limit (HTTP ${status}). Wait, or check the account's quota.${said}`,
    )
  }
  if (status >= 500) {
    return make(
      'unavailable',
      `${id} is out of order at its provider (HTTP ${status}). Try again later.${said}`,
    )
  }
  return make('request', `${id} rejected the request (HTTP ${status}).${said}`)
}

/** The last error of a series of retries, and below it the one with a status or a system code. */
function innermost(error: unknown): unknown {
  let current = error
  for (let depth = 0; depth < 5; depth += 1) {
    if (!(current instanceof Error)) return current
    if ('statusCode' in current && typeof current.statusCode === 'number') return current
    const below = 'lastError' in current ? current.lastError : current.cause
    if (!(below instanceof Error)) return current
    current = below
  }
  return current
}

function read(error: unknown): Failure {
  if (!(error instanceof Error)) {
    return { status: undefined, text: oneLine(messageOf(error)), host: undefined, code: undefined }
  }
  const status = 'statusCode' in error && typeof error.statusCode === 'number' ? error.statusCode : undefined
  const url = 'url' in error && typeof error.url === 'string' ? error.url : undefined
  return {
    status,
    text: oneLine(error.message),
    host: url === undefined ? undefined : (URL.parse(url)?.host ?? undefined),
    code: 'code' in error && typeof error.code === 'string' ? error.code : undefined,
  }
}

function messageOf(error: unknown): string {
  if (typeof error === 'string') return error
  if (
    typeof error === 'object' &&
    error !== null &&
    'message' in error &&
    typeof error.message === 'string'
  ) {
    return error.message
  }
  return ''
}

function oneLine(text: string): string {
  const flat = text.replace(/\s+/g, ' ').trim()
  return flat.length > 500 ? `${flat.slice(0, 500)}…` : flat
}
