import { clipped, invalid, invalidParams, kindOf, RpcError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import type { ContentBlock } from '../protocol/content.ts'
import type { Tool, ToolAnnotations } from '../protocol/definitions.ts'
import { headerPlan } from '../protocol/headers.ts'
import type { Exchange, Outcome } from '../request/exchange.ts'
import { defined } from '../request/object-members.ts'
import { faultOfContent, requireSerializable, requireSerializableBlock, withJsonPath } from './content.ts'
import {
  listedMetadata,
  metadataMembers,
  prefixErrors,
  requireMembers,
  scopesOf,
} from './definition-metadata.ts'
import { blockOf, Reply, type Takeover, ToolError } from './definitions.ts'
import { runHandler } from './handler-context.ts'
import type { ToolEntry } from './registry.ts'
import { objectSchema, type PreparedSchema, prepareFor } from './schema.ts'
import type { AnyTool } from './server.ts'

/** Reports an error whose text is not sent to the client. */
export type Report = (error: unknown, where: { method: string; name?: string }) => void

/** Serves a call of a tool. Errors of the tool are `isError` results; only an invalid call is a JSON-RPC error. */
export async function callTool(tool: ToolEntry, exchange: Exchange, report: Report): Promise<Outcome> {
  const { name } = tool
  const args = exchange.params['arguments']
  if (args !== undefined && !isObject(args)) throw invalidParams('"arguments" must be an object')
  try {
    const check = (tool.input ?? noInput).check(args ?? {})
    const checked = check instanceof Promise ? await check : check
    if (!checked.ok) return failed(`Invalid arguments for "${name}": ${checked.reason}`)
    return await runHandler(
      exchange,
      (ctx) => tool.handler.run(checked.value, ctx),
      (returned) => resultOf(tool, returned, report),
    )
  } catch (thrown) {
    const error = withJsonPath(thrown)
    if (error instanceof RpcError) throw error
    if (error instanceof ToolError) return failed(error.message)
    if (!exchange.signal.aborted) report(error, { method: exchange.method, name })
    return failed(`"${name}" failed unexpectedly. The error is in the server's own log.`)
  }
}

/** The check of the arguments of a tool without `input`: they are ignored. */
const noInput: Pick<PreparedSchema, 'check'> = { check: () => ({ ok: true, value: {} }) }

/** The wire result of what a tool returned; its structured content satisfies the output schema. */
function resultOf(tool: ToolEntry, returned: unknown, report: Report): JsonObject | Promise<JsonObject> {
  const { output } = tool
  if (output === undefined && typeof returned === 'string') {
    return { content: [{ type: 'text', text: returned }] }
  }
  if (Reply.is(returned) && (output === undefined || returned.isError)) {
    return replyResult(returned, returned.structured)
  }
  return output === undefined
    ? { content: contentOf(tool, returned) }
    : structuredResult(tool, output, returned, report)
}

async function structuredResult(
  tool: ToolEntry,
  output: PreparedSchema,
  returned: unknown,
  report: Report,
): Promise<JsonObject> {
  if (Reply.is(returned)) {
    const checked = await output.check(returned.structured)
    return checked.ok ? replyResult(returned, checked.value) : invalidOutput(tool, checked.reason, report)
  }
  const checked = await output.check(returned)
  if (!checked.ok) {
    const isResult =
      isObject(returned) && ('structuredContent' in returned || Array.isArray(returned['content']))
    const hint = isResult ? '. Return the value itself, or reply({ content, structured })' : ''
    return invalidOutput(tool, `${checked.reason}${hint}`, report)
  }
  return { content: [textOf(checked.value)], structuredContent: checked.value }
}

function replyResult(reply: Reply, structured: unknown): JsonObject {
  if (reply.content !== undefined) requireBlocks(reply.content)
  const content = reply.content ?? (structured === undefined ? [] : [textOf(structured)])
  const result: JsonObject = { content }
  if (structured !== undefined) {
    if (reply.content !== undefined) requireSerializable('structuredContent', structured)
    result['structuredContent'] = structured
  }
  if (reply.isError) result['isError'] = true
  if (reply.meta !== undefined) {
    requireSerializable('_meta', reply.meta)
    result['_meta'] = reply.meta
  }
  return result
}

function contentOf(tool: ToolEntry, returned: unknown): ContentBlock[] {
  if (returned === undefined) return []
  if (typeof returned !== 'object' || returned === null) {
    const what = returned === null ? 'null' : `${String(returned)} (${kindOf(returned)})`
    throw new TypeError(
      `Tool "${tool.name}" returned ${clipped(what)}. Return text, such as String(value), content blocks or nothing, or give the ` +
        'tool an "output" schema and return the value itself.',
    )
  }
  if (isObject(returned) && !('type' in returned)) {
    const hint =
      'content' in returned ? ' An object with "content" is a result only as reply({ content }).' : ''
    throw new TypeError(
      `Tool "${tool.name}" returned neither text nor content blocks. Give it an output schema to return values, or use reply().${hint}`,
    )
  }
  const blocks: unknown[] = Array.isArray(returned) ? returned.map(blockOf) : [returned]
  requireBlocks(blocks)
  return blocks
}

function requireBlocks(blocks: readonly unknown[]): asserts blocks is ContentBlock[] {
  for (const [at, block] of blocks.entries()) {
    const fault = faultOfContent(block)
    if (fault !== undefined) throw new TypeError(`content[${at}] is not a complete content block: ${fault}`)
    requireSerializableBlock(`content[${at}]`, block)
  }
}

function textOf(value: unknown): ContentBlock {
  const text = requireSerializable('structuredContent', value)
  if (text === undefined) throw new TypeError('A structured result must be a JSON value')
  return { type: 'text', text }
}

function invalidOutput(tool: ToolEntry, reason: string, report: Report): JsonObject {
  report(new TypeError(`The result does not match the output schema: ${reason}`), {
    method: 'tools/call',
    name: tool.name,
  })
  return failedResult(
    `"${tool.name}" returned a result that does not match its output schema, so it was not sent. This is an error of the server.`,
  )
}

function failed(text: string): Outcome {
  return { type: 'complete', result: failedResult(text) }
}

function failedResult(text: string): JsonObject {
  return { content: [{ type: 'text', text }], isError: true }
}

const members = [...metadataMembers, 'input', 'output', 'annotations', 'task', 'takeover', 'run']
const toolName = /^[A-Za-z0-9_.-]{1,128}$/

/** Prepares a tool for serving. @throws McpError 'INVALID' */
export function toolEntry(name: string, value: AnyTool): ToolEntry {
  const what = `Tool "${name}"`
  if (!toolName.test(name)) {
    throw invalid(`"${name}" cannot be a tool's name: use 1 to 128 of A-Z a-z 0-9 _ - .`)
  }
  requireMembers(what, value, members, { name: 'run', does: 'serves a call' })
  if (value.task !== undefined && value.task !== 'optional' && value.task !== 'required') {
    throw invalid(`${what}: "task" must be "optional" or "required"`)
  }
  if (value.takeover !== undefined && !takeovers.includes(value.takeover)) {
    throw invalid(`${what}: "takeover" must be one of ${takeovers.join(', ')}`)
  }
  const input = value.input === undefined ? undefined : prepareFor(what, value.input, 'input')
  const output = value.output === undefined ? undefined : prepareFor(what, value.output, 'output')
  const inputSchema = input === undefined ? noArguments : objectSchema(what, input.json)
  const headers = prefixErrors(`${what}: input`, () => headerPlan(inputSchema))
  return {
    name,
    scopes: scopesOf(what, value.scopes),
    input,
    output,
    // Its `run` is a method, whose parameters are bivariant: the arguments are validated against `input`.
    handler: value,
    task: value.task,
    takeover: value.takeover ?? (isRepeatable(value.annotations) ? 'always' : 'waiting'),
    listed: {
      name,
      ...listedMetadata(what, value),
      inputSchema,
      ...defined({ outputSchema: output?.json, annotations: value.annotations }),
    },
    headers: headers.length === 0 ? undefined : headers,
  }
}

const takeovers: readonly Takeover[] = ['never', 'waiting', 'always']

function isRepeatable(hints: ToolAnnotations | undefined): boolean {
  return hints?.readOnlyHint === true || hints?.idempotentHint === true
}

const noArguments: Tool['inputSchema'] = { type: 'object', additionalProperties: false }
