import { messageOf } from '../jsonrpc/error.ts'
import { isObject } from '../jsonrpc/parse.ts'
import { checkElicitSchema, isElicitSchema, isStrings } from '../protocol/elicitation.ts'
import type {
  CreateMessageParams,
  ElicitSchema,
  InputRequests,
  Question,
} from '../protocol/server-requests.ts'
import { InputRequired } from '../request/exchange.ts'
import type { FormSchema } from './context.ts'
import { describedOf, jsonOf } from './schema.ts'

/** A form, or why a schema cannot be shown as one. */
type Form =
  | { readonly ok: true; readonly schema: ElicitSchema }
  | { readonly ok: false; readonly reason: string }

type Json = Readonly<Record<string, unknown>>

const forms = new WeakMap<object, Form>()

const commonKeywords = ['title', 'description', 'default']
const keywordsOfType: Readonly<Record<string, readonly string[]>> = {
  string: ['minLength', 'maxLength', 'format', 'enum', 'enumNames', 'oneOf', 'writeOnly'],
  number: ['minimum', 'maximum'],
  integer: ['minimum', 'maximum'],
  boolean: [],
  array: ['minItems', 'maxItems', 'items'],
}
/** `password` is kept although forms do not have it, so that the check of the form rejects it. */
const formats = ['email', 'uri', 'date', 'date-time', 'password']

/**
 * The form of a schema: a flat object of primitive fields. Constraints that a form does not have, such as a pattern, are left
 * to the validator of the response.
 */
export function formOf(schema: FormSchema, question: object = { schema }): Form {
  const unusable = schemaFault(schema, question)
  if (unusable !== undefined) return { ok: false, reason: unusable }
  const form = forms.get(schema) ?? makeForm(schema)
  forms.set(schema, form)
  return form
}

/** Why a question has no usable schema; undefined if it has one. */
function schemaFault(schema: unknown, question: unknown): string | undefined {
  if (isObject(question) && 'requestedSchema' in question) {
    return 'The form of a question is its "schema" (a validator, an object of validators or JSON Schema): rename "requestedSchema" to "schema"'
  }
  const isSchema = isObject(schema) || typeof schema === 'function'
  return isSchema
    ? undefined
    : 'A question needs a "schema": a validator, an object of validators, or JSON Schema'
}

function makeForm(schema: FormSchema): Form {
  try {
    const described = describedOf(schema)
    const form = described === undefined ? schema : formSchemaOf(jsonOf(described, 'input'))
    if (isElicitSchema(form)) return { ok: true, schema: form }
    return { ok: false, reason: `The schema cannot be shown as a form: ${checkElicitSchema(form)}` }
  } catch (error) {
    const reason = messageOf(error)
    return { ok: false, reason: `The schema cannot be shown as a form: ${reason}` }
  }
}

function formSchemaOf(json: Json): Json {
  const { type, properties, required } = json
  if (type !== 'object' || !isObject(properties)) return json
  const fields = Object.entries(properties).map(([name, field]) => [name, fieldOf(field, json)])
  const form = { type: 'object', properties: Object.fromEntries(fields) }
  return Array.isArray(required) && required.length > 0 ? { ...form, required } : form
}

function fieldOf(field: unknown, root: Json): unknown {
  const schema = dereferenced(field, root)
  if (schema === undefined) return field
  const choice = choiceOf(schema)
  if (choice !== undefined) return { type: 'string', ...pick(schema, commonKeywords), ...choice }
  const { type } = schema
  if (typeof type !== 'string' || schema['enum'] !== undefined || !Object.hasOwn(keywordsOfType, type)) {
    // Not a valid type, so that the check of the form rejects it.
    return { ...schema, type: schema['enum'] === undefined ? type : 'enum with values other than strings' }
  }
  const supported: Record<string, unknown> = {
    type,
    ...pick(schema, [...commonKeywords, ...(keywordsOfType[type] ?? [])]),
  }
  if (type === 'string' && !formats.includes(String(schema['format']))) delete supported['format']
  if (type === 'integer') return { type, ...pick(schema, commonKeywords), ...wholeBounds(schema) }
  if (type === 'array') return { ...supported, items: itemsOf(dereferenced(schema['items'], root) ?? {}) }
  return supported
}

/** A choice of strings, in any of its schema forms. */
function choiceOf(schema: Json): Json | undefined {
  const { const: only, enum: values, anyOf, oneOf, enumNames } = schema
  if (typeof only === 'string') return { enum: [only] }
  if (isStrings(values) && values.length > 0)
    return enumNames === undefined ? { enum: values } : { enum: values, enumNames }
  const union = anyOf ?? oneOf
  if (!Array.isArray(union) || union.length === 0) return undefined
  const options = union
    .filter((option) => isObject(option))
    .filter(({ const: value }) => typeof value === 'string')
  if (options.length !== union.length) return undefined
  return options.some(({ title }) => title !== undefined)
    ? { oneOf: options.map(({ const: value, title }) => ({ const: value, title: title ?? value })) }
    : { enum: options.map(({ const: value }) => value) }
}

function itemsOf(items: Json): Json {
  const choice = choiceOf(items)
  if (choice === undefined) return items
  return choice['oneOf'] === undefined ? { type: 'string', enum: choice['enum'] } : { anyOf: choice['oneOf'] }
}

/** Bounds of whole numbers, exclusive ones included. */
function wholeBounds({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }: Json): Json {
  const lower = [minimum, typeof exclusiveMinimum === 'number' ? exclusiveMinimum + 1 : undefined]
  const upper = [maximum, typeof exclusiveMaximum === 'number' ? exclusiveMaximum - 1 : undefined]
  const lows = lower.filter((bound) => typeof bound === 'number' && bound > Number.MIN_SAFE_INTEGER)
  const highs = upper.filter((bound) => typeof bound === 'number' && bound < Number.MAX_SAFE_INTEGER)
  return {
    ...(lows.length === 0 ? {} : { minimum: Math.max(...lows.map(Number)) }),
    ...(highs.length === 0 ? {} : { maximum: Math.min(...highs.map(Number)) }),
  }
}

/** A subschema, or the definition it refers to. */
function dereferenced(schema: unknown, root: Json): Json | undefined {
  if (!isObject(schema)) return undefined
  const { $ref, ...siblings } = schema
  if (typeof $ref !== 'string') return schema
  const name = /^#\/\$defs\/([^/]+)$/.exec($ref)?.[1]
  const { $defs } = root
  const target = name !== undefined && isObject($defs) && Object.hasOwn($defs, name) ? $defs[name] : undefined
  return isObject(target) ? { ...target, ...siblings } : undefined
}

function pick(schema: Json, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    names.flatMap((name) => (schema[name] === undefined ? [] : [[name, schema[name]]])),
  )
}

/**
 * Returned by a handler to request input explicitly. The handler runs again with the responses in `ctx.answers` and `state` (any
 * JSON value, encrypted on the wire) in `ctx.state`. At least one of the two is required.
 */
export function inputRequired(needed: { requests?: InputRequests; state?: unknown }): InputRequired {
  return new InputRequired(needed.requests ?? {}, needed.state)
}

/** Creates the requests for `inputRequired`, from the same arguments as the functions of `ctx`, except `key` and `id`. */
export const ask: {
  /** A form elicitation. @throws TypeError for a schema that is not a form */
  elicit(form: { message: string; schema: FormSchema }): Question
  /** A URL elicitation. */
  elicitUrl(params: { message: string; url: string }): Question
  /** A sampling request. */
  sample(request: CreateMessageParams): Question
  /** A request for the client's roots. */
  roots(): Question
} = {
  elicit: (question) => {
    const form = formOf(question.schema, question)
    if (!form.ok) throw new TypeError(form.reason)
    const params = { mode: 'form' as const, message: question.message, requestedSchema: form.schema }
    return { method: 'elicitation/create', params }
  },
  elicitUrl: (params) => ({ method: 'elicitation/create', params: { mode: 'url', ...params } }),
  sample: (params) => ({ method: 'sampling/createMessage', params }),
  roots: () => ({ method: 'roots/list', params: {} }),
}
