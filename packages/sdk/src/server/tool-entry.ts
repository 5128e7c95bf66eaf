import type { Tool } from '../protocol/definitions.ts'
import { headerPlan } from '../protocol/headers.ts'
import type { Context } from './context.ts'
import type { ToolEntry } from './entries.ts'
import { objectSchema, ready } from './input-schema.ts'
import type { AnyTool } from './server.ts'
import { attempt, invalid, requireMembers, scopesOf, shown, shownMembers } from './shown.ts'
import { callTool } from './tools.ts'

const members = [...shownMembers, 'input', 'output', 'annotations', 'task', 'run']
const toolName = /^[A-Za-z0-9_.-]{1,128}$/

/** Makes a tool ready. @throws McpError 'INVALID' */
export function toolEntry(name: string, value: AnyTool): ToolEntry {
  const what = `Tool "${name}"`
  if (!toolName.test(name)) {
    throw invalid(`"${name}" cannot be a tool's name: use 1 to 128 of A-Z a-z 0-9 _ - .`)
  }
  requireMembers(what, value, members, { name: 'run', does: 'serves a call' })
  if (value.task !== undefined && value.task !== 'optional' && value.task !== 'required') {
    throw invalid(`${what} has a "task" that is neither "optional" nor "required"`)
  }
  const input = value.input === undefined ? undefined : ready(what, value.input, 'input')
  const output = value.output === undefined ? undefined : ready(what, value.output, 'output')
  const inputSchema = input === undefined ? noArguments : objectSchema(what, input.json)
  const headers = attempt(what, 'input', () => headerPlan(inputSchema))
  // Declared as a method, so that what the handler takes is compared both ways: it was checked against `input`.
  const handler: { run(args: unknown, ctx: Context): unknown } = value
  const entry: ToolEntry = {
    name,
    scopes: scopesOf(what, value.scopes),
    input,
    output,
    run: (args, ctx) => handler.run(args, ctx),
    task: value.task,
    listed: {
      name,
      ...shown(what, value),
      inputSchema,
      ...(output === undefined ? {} : { outputSchema: output.json }),
      ...(value.annotations === undefined ? {} : { annotations: value.annotations }),
    },
    headers: headers.length === 0 ? undefined : headers,
    call: (exchange, report) => callTool(entry, exchange, report),
  }
  return entry
}

const noArguments: Tool['inputSchema'] = { type: 'object', additionalProperties: false }
