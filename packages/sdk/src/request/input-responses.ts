import { ErrorCode, RpcError } from '../jsonrpc/error.ts'
import { isObject } from '../jsonrpc/parse.ts'
import { checkElicitContent, checkElicitSchema, checkSampling } from '../protocol/elicitation.ts'
import type { Question, QuestionMethod, Questions } from '../protocol/server-requests.ts'
import { root, type Shape, samplingResult } from '../protocol/shapes.ts'
import { secretFieldOf, whyNoSecrets } from './secret-fields.ts'

/** The kind of a question as it stands in made-up keys and messages. */
const kinds: Readonly<Record<QuestionMethod, string>> = {
  'elicitation/create': 'elicitation',
  'sampling/createMessage': 'sampling',
  'roots/list': 'roots',
}

/** Names questions on the wire: the author's key, or the kind and its place among its kind, made unique. */
export class Keys {
  readonly #used = new Set<string>()
  readonly #counts = new Map<string, number>()

  next(method: QuestionMethod, key: string | undefined): string {
    const kind = kinds[method]
    const count = (this.#counts.get(kind) ?? 0) + 1
    this.#counts.set(kind, count)
    const wanted = key ?? `${kind}_${count}`
    let name = wanted
    for (let n = 2; this.#used.has(name); n++) name = `${wanted}_${n}`
    this.#used.add(name)
    return name
  }
}

/** What is wrong with a question as its author wrote it; undefined when nothing is. */
export function faultOf(question: Question): string | undefined {
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
  return secret === undefined ? undefined : whyNoSecrets(secret)
}

function faultOfUrl(url: string): string | undefined {
  return URL.canParse(url) ? undefined : `"${url}" is not an absolute URL`
}

/**
 * The answer, checked against its question; values of a form that it did not ask for are left out.
 * Throws an RpcError -32602 that says what is wrong with it.
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

/** What is wrong with a part of an answer; `whole` where it is all of it. */
function faultIn(part: unknown, shape: Shape, whole: string): string | undefined {
  let wrong: string | undefined
  const isRight = shape(part, (name, member) => {
    if (member !== null) wrong ??= `"${name}" is not what it must be`
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
      const isFolder = (one: unknown): boolean =>
        isObject(one) && typeof one['uri'] === 'string' && one['uri'].startsWith('file://')
      if (!roots.every(isFolder)) return rootsWanted
      return roots.map((one) => faultIn(one, root, rootsWanted)).find((fault) => fault !== undefined)
    }
  }
}
