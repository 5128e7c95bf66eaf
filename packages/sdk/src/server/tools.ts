import type { Exchange, Outcome } from '../core/exchange.ts'
import { RpcError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import { kindOf } from '../jsonrpc/shown.ts'
import type { ContentBlock } from '../protocol/content.ts'
import { faultOfContent, reported, requireWritable, requireWritableBlock, Unwritable } from './content.ts'
import { blockOf, Reply, ToolError } from './definitions.ts'
import type { Checked } from './described.ts'
import type { ToolEntry } from './entries.ts'
import { clipped, invalidParams, runHandler } from './run.ts'
import type { Prepared } from './schema.ts'

/** Reports a failure whose text the peer is not shown. */
export type Report = (error: unknown, where: { method: string; name?: string }) => void

/** Serves a call of a tool. Everything the tool does wrong is a result; only a call that cannot be made is an error. */
export function callTool(tool: ToolEntry, exchange: Exchange, report: Report): Outcome | Promise<Outcome> {
  const { name } = tool
  const args = exchange.params['arguments']
  if (args !== undefined && !isObject(args)) throw invalidParams('"arguments" must be an object')
  const run = (checked: Checked): Outcome | Promise<Outcome> =>
    checked.ok
      ? runHandler(
          exchange,
          (ctx) => tool.run(checked.value, ctx),
          (returned) => resultOf(tool, returned, report),
        )
      : failed(`Invalid arguments for "${name}": ${checked.why}`)
  const fail = (error: unknown): Outcome | Promise<Outcome> => {
    if (error instanceof RpcError) throw error
    if (error instanceof ToolError) return failed(error.message)
    if (error instanceof Unwritable) return reported(error).then(fail)
    if (!exchange.signal.aborted) report(error, { method: exchange.method, name })
    return failed(`"${name}" failed unexpectedly. What went wrong was written to the server's own log.`)
  }
  try {
    const checked = checkArguments(tool, args ?? {})
    const outcome = checked instanceof Promise ? checked.then(run) : run(checked)
    return outcome instanceof Promise ? outcome.catch(fail) : outcome
  } catch (error) {
    return fail(error)
  }
}

function checkArguments(tool: ToolEntry, args: Record<string, unknown>): Checked | Promise<Checked> {
  return tool.input === undefined ? { ok: true, value: {} } : tool.input.check(args)
}

/** The wire result of what a tool returned; its structured content satisfies the output schema. */
function resultOf(tool: ToolEntry, returned: unknown, report: Report): JsonObject | Promise<JsonObject> {
  const { output } = tool
  if (Reply.is(returned) && (output === undefined || returned.isError)) {
    return replyResult(returned, returned.structured)
  }
  return output === undefined
    ? { content: contentOf(tool, returned) }
    : structuredResult(tool, output, returned, report)
}

async function structuredResult(
  tool: ToolEntry,
  output: Prepared,
  returned: unknown,
  report: Report,
): Promise<JsonObject> {
  if (Reply.is(returned)) {
    const checked = await output.check(returned.structured)
    return checked.ok ? replyResult(returned, checked.value) : brokenOutput(tool, checked.why, report)
  }
  const checked = await output.check(returned)
  if (!checked.ok) {
    const isResult =
      isObject(returned) && ('structuredContent' in returned || Array.isArray(returned['content']))
    const hint = isResult ? '. Return the value itself, or reply({ content, structured })' : ''
    return brokenOutput(tool, `${checked.why}${hint}`, report)
  }
  return { content: [textOf(checked.value)], structuredContent: checked.value }
}

function replyResult(reply: Reply, structured: unknown): JsonObject {
  if (reply.content !== undefined) requireBlocks(reply.content)
  const content = reply.content ?? (structured === undefined ? [] : [textOf(structured)])
  const result: JsonObject = { content }
  if (structured !== undefined) {
    if (reply.content !== undefined) requireWritable('structuredContent', structured)
    result['structuredContent'] = structured
  }
  if (reply.isError) result['isError'] = true
  if (reply.meta !== undefined) {
    requireWritable('_meta', reply.meta)
    result['_meta'] = reply.meta
  }
  return result
}

function contentOf(tool: ToolEntry, returned: unknown): ContentBlock[] {
  if (returned === undefined) return []
  if (typeof returned === 'string') return [{ type: 'text', text: returned }]
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
    requireWritableBlock(`content[${at}]`, block)
  }
}

function textOf(value: unknown): ContentBlock {
  const text = requireWritable('structuredContent', value)
  if (text === undefined) throw new TypeError('A structured result must be a value JSON can write')
  return { type: 'text', text }
}

function brokenOutput(tool: ToolEntry, why: string, report: Report): JsonObject {
  report(new TypeError(`The result does not satisfy the output schema: ${why}`), {
    method: 'tools/call',
    name: tool.name,
  })
  return failedResult(
    `"${tool.name}" gave a result that does not satisfy its own output schema, so it was not sent. The fault is the server's.`,
  )
}

function failed(text: string): Outcome {
  return { type: 'complete', result: failedResult(text) }
}

function failedResult(text: string): JsonObject {
  return { content: [{ type: 'text', text }], isError: true }
}
