import { isObject } from '../jsonrpc/parse.ts'
import type { PromptArgument } from '../protocol/definitions.ts'
import { complete, completersOf } from './completion.ts'
import type { Context } from './context.ts'
import type { PromptEntry } from './entries.ts'
import { objectSchema, ready } from './input-schema.ts'
import { getPrompt } from './prompts.ts'
import type { Prepared } from './schema.ts'
import type { AnyPrompt } from './server.ts'
import { invalid, requireMembers, scopesOf, shown, shownMembers } from './shown.ts'

const members = [...shownMembers, 'input', 'complete', 'run']

/** Makes a prompt ready. @throws McpError 'INVALID' */
export function promptEntry(name: string, value: AnyPrompt): PromptEntry {
  const what = `Prompt "${name}"`
  requireMembers(what, value, members, { name: 'run', does: 'serves a request for it' })
  const input = value.input === undefined ? undefined : ready(what, value.input, 'input')
  const list = input === undefined ? undefined : argumentsOf(objectSchema(what, input.json))
  if (input !== undefined) requireStrings(what, input)
  // Declared as a method: the arguments were checked against `input`, where the handler's own type comes from.
  const handler: { run(args: unknown, ctx: Context): unknown } = value
  const listed = { name, ...shown(what, value), ...(list === undefined ? {} : { arguments: list }) }
  const run = (args: unknown, ctx: Context): unknown => handler.run(args, ctx)
  return {
    name,
    scopes: scopesOf(what, value.scopes),
    get: (exchange) => getPrompt({ listed, input, run }, exchange),
    completers: completersOf(what, value.complete, list?.map((argument) => argument.name) ?? []),
    complete,
    listed,
  }
}

/** Values that a schema of a type accepts, to find out whether it accepts them as text too. */
function samplesOf(schema: Record<string, unknown>): unknown[] {
  const bounds = ['default', 'const', 'minimum', 'maximum', 'multipleOf'].map((keyword) => schema[keyword])
  const { exclusiveMinimum: above, exclusiveMaximum: below, enum: values } = schema
  const given = [...bounds, ...(Array.isArray(values) ? values : [])].filter((value) => value !== undefined)
  const beside = [typeof above === 'number' ? above + 1 : 1, typeof below === 'number' ? below - 1 : 0]
  return [...given, ...beside, true, [], {}].filter((value) => typeof value !== 'string')
}

/**
 * Refuses an argument that no request could give: on the wire every argument of a prompt is a string. A schema that converts
 * text, such as `z.coerce.number()`, describes itself as a number too, so it is tried.
 * @throws McpError 'INVALID'
 */
function requireStrings(what: string, { json, accepts }: Prepared): void {
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
