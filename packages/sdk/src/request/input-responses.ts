import { ErrorCode, RpcError } from '../jsonrpc/error.ts'
import { isObject } from '../jsonrpc/parse.ts'
import { checkElicitContent, checkElicitSchema } from '../protocol/elicitation.ts'
import type { Question, QuestionMethod, Questions } from '../protocol/server-requests.ts'
import { checkSampling } from '../protocol/server-requests.ts'
import { root, type Shape, samplingResult } from '../protocol/shapes.ts'

/** Words that denote a secret. */
const secrets = [
  'passwords?',
  'passwd',
  'passphrase',
  'pass phrase',
  'api ?keys?',
  'secret',
  '(?:secret|private|access|signing|encryption) key',
  '(?:client|app|shared|webhook|signing) secret',
  'token',
  'credentials?',
  'cvv2?|cvc2?',
  'otp|one ?time (?:password|passcode|code)',
].join('|')
/** Words with which "token" is not a secret: a count, a position in a list, or a currency. */
const harmlessTokens =
  'max|maximum|min|minimum|per|next|page|continuation|sync|stop|start|end|special|erc20|swap|design|cancellation'
const before =
  '(?:(?:please )?(?:enter|type|provide|give|paste|repeat|confirm|choose|set) )?(?:in )?(?:your |the |a |an |my )?'
const after = '(?: (?:for|again|confirmation|repeat|here|required)(?: .*)?)?'
const named = new RegExp(`^(?:.* )?(?:${secrets})${after}$`)
const titled = new RegExp(`^${before}(?:[a-z0-9]+ ){0,2}(?:${secrets})${after}$`)
const harmless = new RegExp(
  `(?:^| )(?:(?:${harmlessTokens}) tokens?|(?:forgot|reset|remember|no|without) (?:my |your )?(?:${secrets}))`,
)

/**
 * The first text field of a form whose format, name or title denotes a secret: a password, a token, an API key. Names such as
 * `tokenCount` do not. Undefined if there is none.
 */
function secretFieldOf(properties: unknown): string | undefined {
  if (!isObject(properties)) return undefined
  return Object.entries(properties).find(([name, field]) => isObject(field) && isSecret(name, field))?.[0]
}

function secretRefusal(field: string): string {
  return (
    `the field "${field}" asks for a secret, which a form must not do because its values pass through the client: ` +
    'direct the user to a page of yours with ctx.elicitUrl (URL mode) and ask for the secret there'
  )
}

function isSecret(name: string, field: Readonly<Record<string, unknown>>): boolean {
  const { type, title, format, enum: choices, oneOf, anyOf } = field
  if (format === 'password' || field['writeOnly'] === true) return true
  if (
    (type !== undefined && type !== 'string') ||
    choices !== undefined ||
    oneOf !== undefined ||
    anyOf !== undefined
  ) {
    return false
  }
  return mentions(name, named) || (typeof title === 'string' && mentions(title, titled))
}

function mentions(text: string, secret: RegExp): boolean {
  if (text.length > 200) return false
  const words = text
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, ' ')
    .trim()
  return secret.test(words) && !harmless.test(words)
}

/** The prefix of generated keys. */
const keyPrefixes: Readonly<Record<QuestionMethod, string>> = {
  'elicitation/create': 'elicitation',
  'sampling/createMessage': 'sampling',
  'roots/list': 'roots',
}

/** The keys of questions on the wire: the author's, or the kind with a number, made unique. */
export class QuestionKeys {
  readonly #used = new Set<string>()
  readonly #counts = new Map<string, number>()

  next(method: QuestionMethod, key: string | undefined): string {
    const kind = keyPrefixes[method]
    const count = (this.#counts.get(kind) ?? 0) + 1
    this.#counts.set(kind, count)
    const wanted = key ?? `${kind}_${count}`
    let name = wanted
    for (let n = 2; this.#used.has(name); n++) name = `${wanted}_${n}`
    this.#used.add(name)
    return name
  }
}

/** Why a question is invalid; undefined for a valid one. */
export function faultOfQuestion(question: Question): string | undefined {
  switch (question.method) {
    case 'elicitation/create':
      return question.params.mode === 'url'
        ? faultOfUrl(question.params.url)
        : faultOfForm(question.params.requestedSchema)
    case 'sampling/createMessage':
      return checkSampling(question.params)
    case 'roots/list':
      return undefined
  }
}

function faultOfForm(schema: unknown): string | undefined {
  const fault = checkElicitSchema(schema)
  if (fault !== undefined) return fault
  const secret = secretFieldOf(isObject(schema) ? schema['properties'] : undefined)
  return secret === undefined ? undefined : secretRefusal(secret)
}

function faultOfUrl(url: string): string | undefined {
  return URL.canParse(url) ? undefined : `"${url}" is not an absolute URL`
}

/**
 * Validates the response to a question. Values for fields that the form does not have are dropped.
 * @throws RpcError -32602 for an invalid response
 */
export function answerTo<M extends QuestionMethod>(
  question: Extract<Question, { method: M }>,
  given: unknown,
  key: string,
): Questions[M]['answer'] {
  const answer = withoutUnasked(question, given)
  const fault = faultOfAnswer(question, answer)
  if (fault !== undefined) {
    throw new RpcError(ErrorCode.InvalidParams, `The answer to "${key}" is not valid: ${fault}`)
  }
  return answer as Questions[M]['answer']
}

function withoutUnasked(question: Question, answer: unknown): unknown {
  if (question.method !== 'elicitation/create' || question.params.mode === 'url') return answer
  if (!isObject(answer) || !isObject(answer['content'])) return answer
  const { properties } = question.params.requestedSchema
  const asked = Object.entries(answer['content']).filter(([name]) => Object.hasOwn(properties, name))
  return { ...answer, content: Object.fromEntries(asked) }
}

const blocksWanted = '"content" must be a content block or a list of them'
const rootsWanted = 'every root must have a "uri" that begins with file://'

/** Why a part of a response is invalid; `whole` if none of it has the shape. */
function faultIn(part: unknown, shape: Shape, whole: string): string | undefined {
  let wrong: string | undefined
  const isRight = shape(part, (name, member) => {
    if (member !== null) wrong ??= `"${name}" has an invalid value`
  })
  return isRight ? wrong : whole
}

function faultOfAnswer(question: Question, answer: unknown): string | undefined {
  if (!isObject(answer)) return 'it must be an object'
  switch (question.method) {
    case 'elicitation/create': {
      const { action, content } = answer
      if (action !== 'accept' && action !== 'decline' && action !== 'cancel') {
        return '"action" must be accept, decline or cancel'
      }
      if (action !== 'accept' || question.params.mode === 'url') return undefined
      return checkElicitContent(question.params.requestedSchema, content ?? {})
    }
    case 'sampling/createMessage': {
      const { role, content, model } = answer
      if (role !== 'assistant' && role !== 'user') return '"role" must be user or assistant'
      if (typeof model !== 'string') return '"model" must be a string'
      const says = !Array.isArray(content) || content.length > 0
      return says ? faultIn(answer, samplingResult, blocksWanted) : blocksWanted
    }
    case 'roots/list': {
      const { roots } = answer
      if (!Array.isArray(roots)) return '"roots" must be a list'
      const isFileRoot = (one: unknown): boolean =>
        isObject(one) && typeof one['uri'] === 'string' && one['uri'].startsWith('file://')
      if (!roots.every(isFileRoot)) return rootsWanted
      return roots.map((one) => faultIn(one, root, rootsWanted)).find((fault) => fault !== undefined)
    }
  }
}
