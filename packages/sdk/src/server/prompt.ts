import { clipped, invalid, invalidParams } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import type { PromptArgument } from '../protocol/definitions.ts'
import type { Exchange, Outcome } from '../request/exchange.ts'
import { defined } from '../request/object-members.ts'
import { completersOf } from './completion.ts'
import { faultOfContent, requireSerializable, withJsonPath } from './content.ts'
import { listedMetadata, metadataMembers, requireMembers, scopesOf } from './definition-metadata.ts'
import { rethrowForPeer, runHandler } from './handler-context.ts'
import type { PromptEntry } from './registry.ts'
import { objectSchema, type PreparedSchema, prepareFor } from './schema.ts'
import type { AnyPrompt } from './server.ts'

/** Serves `prompts/get`. */
export async function getPrompt(prompt: PromptEntry, exchange: Exchange): Promise<Outcome> {
  const value = await argumentsFor(prompt, exchange.params['arguments'] ?? {})
  try {
    return await runHandler(
      exchange,
      (ctx) => prompt.handler.run(value, ctx),
      (returned) => resultOf(prompt, returned),
    )
  } catch (error) {
    return rethrowForPeer(withJsonPath(error))
  }
}

async function argumentsFor(prompt: PromptEntry, args: unknown): Promise<unknown> {
  if (!isObject(args) || Object.values(args).some((value) => typeof value !== 'string')) {
    throw invalidParams('"arguments" must be an object of strings')
  }
  const missing = prompt.listed.arguments?.find(
    ({ name, required }) => required === true && !Object.hasOwn(args, name),
  )
  if (missing !== undefined)
    throw invalidParams(`prompt "${prompt.listed.name}" needs the argument "${missing.name}"`)
  if (prompt.input === undefined) {
    const [unknown] = Object.keys(args)
    if (unknown === undefined) return args
    throw invalidParams(
      `prompt "${prompt.listed.name}" takes no arguments, so leave out "${clipped(unknown)}"`,
    )
  }
  const checked = await prompt.input.check(args)
  if (!checked.ok) throw invalidParams(`arguments of prompt "${prompt.listed.name}": ${checked.reason}`)
  return checked.value
}

function resultOf(prompt: PromptEntry, returned: unknown): JsonObject {
  const { description } = prompt.listed
  const described = description === undefined ? {} : { description }
  if (typeof returned === 'string') {
    return { ...described, messages: [{ role: 'user', content: { type: 'text', text: returned } }] }
  }
  const whole = isObject(returned) && Array.isArray(returned['messages']) ? returned : undefined
  const given: unknown = whole?.['messages'] ?? returned
  const messages: readonly unknown[] = Array.isArray(given) ? given : [given]
  for (const [at, message] of messages.entries())
    requireMessage(prompt.listed.name, message, `messages[${at}]`)
  const result = { ...described, ...whole, messages }
  requireSerializable('the result', result)
  return result
}

function requireMessage(prompt: string, message: unknown, place: string): void {
  const isOne = isObject(message) && (message['role'] === 'user' || message['role'] === 'assistant')
  if (!isOne) {
    throw new TypeError(
      `Prompt "${prompt}" must return text, messages with a "role" and a "content", or a result with "messages": ` +
        `${place} needs a "role", user or assistant, and a "content"`,
    )
  }
  const { content } = message
  const fault = faultOfContent(content)
  if (fault === undefined) return
  const hint = typeof content === 'string' ? ". Write { type: 'text', text }" : ''
  throw new TypeError(`Prompt "${prompt}": ${place}.content is not a complete content block: ${fault}${hint}`)
}

const members = [...metadataMembers, 'input', 'complete', 'run']

/** Prepares a prompt for serving. @throws McpError 'INVALID' */
export function promptEntry(name: string, value: AnyPrompt): PromptEntry {
  const what = `Prompt "${name}"`
  requireMembers(what, value, members, { name: 'run', does: 'serves a request for it' })
  const input = value.input === undefined ? undefined : prepareFor(what, value.input, 'input')
  const list = input === undefined ? undefined : argumentsOf(objectSchema(what, input.json))
  if (input !== undefined) requireStrings(what, input)
  return {
    name,
    scopes: scopesOf(what, value.scopes),
    input,
    // Its `run` is a method, whose parameters are bivariant: the arguments are validated against `input`.
    handler: value,
    completers: completersOf(what, value.complete, list?.map((argument) => argument.name) ?? []),
    listed: { name, ...listedMetadata(what, value), ...defined({ arguments: list }) },
  }
}

/** Values that a schema may accept, to test whether it accepts them as text too. */
function samplesOf(schema: Record<string, unknown>): unknown[] {
  const bounds = ['default', 'const', 'minimum', 'maximum', 'multipleOf'].map((keyword) => schema[keyword])
  const { exclusiveMinimum: above, exclusiveMaximum: below, enum: values } = schema
  const given = [...bounds, ...(Array.isArray(values) ? values : [])].filter((value) => value !== undefined)
  const numbers = [typeof above === 'number' ? above + 1 : 1, typeof below === 'number' ? below - 1 : 0]
  return [...given, ...numbers, true, [], {}].filter((value) => typeof value !== 'string')
}

/**
 * Rejects an argument that is not a string, as all arguments of prompts are on the wire. A schema that converts text, such as
 * `z.coerce.number()`, also describes itself as a number, so it is tested.
 * @throws McpError 'INVALID'
 */
function requireStrings(what: string, { json, accepts }: PreparedSchema): void {
  const { properties } = json
  for (const [name, schema] of Object.entries(isObject(properties) ? properties : {})) {
    if (!isObject(schema)) continue
    const { type } = schema
    if (type === undefined || type === 'string' || (Array.isArray(type) && type.includes('string'))) continue
    const typed = samplesOf(schema).filter((value) => accepts(name, value) === true)
    if (typed.length === 0 || typed.some((value) => accepts(name, String(value)) !== false)) continue
    throw invalid(
      `${what}: input: the argument "${name}" is of type ${JSON.stringify(type)}, but the arguments of a prompt are strings. ` +
        'Use a schema that converts text, such as z.coerce.number(), or take a string and convert it in "run"',
    )
  }
}

function argumentsOf({ properties, required }: Record<string, unknown>): PromptArgument[] {
  const needed = Array.isArray(required) ? required : []
  return Object.entries(isObject(properties) ? properties : {}).map(([name, schema]) => {
    const { title, description } = isObject(schema) ? schema : {}
    return {
      name,
      ...(typeof title === 'string' ? { title } : {}),
      ...(typeof description === 'string' ? { description } : {}),
      ...(needed.includes(name) ? { required: true } : {}),
    }
  })
}
