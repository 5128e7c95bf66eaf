import { isObject } from '../jsonrpc/parse.ts'
import type { PromptArgument } from '../protocol/definitions.ts'
import { complete, completersOf } from './completion.ts'
import type { Context } from './context.ts'
import type { PromptEntry } from './entries.ts'
import { objectSchema, ready } from './input-schema.ts'
import { getPrompt } from './prompts.ts'
import type { AnyPrompt } from './server.ts'
import { scopesOf, shown } from './shown.ts'

/** Makes a prompt ready. @throws McpError 'INVALID' */
export function promptEntry(name: string, value: AnyPrompt): PromptEntry {
  const what = `Prompt "${name}"`
  const input = value.input === undefined ? undefined : ready(what, value.input, 'input')
  const list = input === undefined ? undefined : argumentsOf(objectSchema(what, input.json))
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
