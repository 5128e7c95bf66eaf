import { conduct } from '../core/conduct.ts'
import type { Exchange, Outcome } from '../core/exchange.ts'
import { ErrorCode, RpcError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import type { ContentBlock } from '../protocol/content.ts'
import { Reply, ToolError } from './definitions.ts'
import { HandlerContext } from './make-context.ts'
import type { Registry, ToolEntry } from './registry.ts'
import type { Checked } from './schema.ts'

/** Reports a failure whose text the peer is not shown. */
export type Report = (error: unknown, where: { method: string; name?: string }) => void

/** Serves `tools/call`. Everything a tool does wrong is a result; only a call that cannot be made is an error. */
export async function callTool(registry: Registry, exchange: Exchange, report: Report): Promise<Outcome> {
  const { name, arguments: args } = exchange.params
  if (typeof name !== 'string') throw invalid('"name" must be a string')
  const tool = registry.tools.get(name)
  if (tool === undefined) throw new RpcError(ErrorCode.InvalidParams, `Unknown tool: ${name.slice(0, 128)}`)
  if (args !== undefined && !isObject(args)) throw invalid('"arguments" must be an object')

  const checking = checkArguments(tool, args ?? {})
  const checked = checking instanceof Promise ? await checking : checking
  if (!checked.ok) return failed(`Invalid arguments for "${name}": ${checked.why}`)
  try {
    return await conduct(
      exchange,
      (round) => runTool(tool, checked.value, new HandlerContext(exchange, round)),
      (returned) => resultOf(tool, returned, report),
    )
  } catch (error) {
    if (error instanceof RpcError) throw error
    if (error instanceof ToolError) return failed(error.message)
    report(error, { method: exchange.method, name })
    return failed(`"${name}" failed unexpectedly. What went wrong was written to the server's own log.`)
  }
}

function checkArguments(tool: ToolEntry, args: Record<string, unknown>): Checked | Promise<Checked> {
  return tool.input === undefined ? { ok: true, value: args } : tool.input.check(args)
}

function runTool(tool: ToolEntry, args: unknown, ctx: HandlerContext): unknown {
  const returned = tool.run(args, ctx)
  if (!(returned instanceof Promise)) {
    ctx.flush()
    return returned
  }
  return returned.finally(() => ctx.flush())
}

/** The wire result of what a tool returned; its structured content satisfies the output schema. */
async function resultOf(tool: ToolEntry, returned: unknown, report: Report): Promise<JsonObject> {
  if (returned instanceof Reply) {
    if (tool.output === undefined || returned.isError) return replyResult(returned, returned.structured)
    const checked = await tool.output.check(returned.structured)
    return checked.ok ? replyResult(returned, checked.value) : brokenOutput(tool, checked.why, report)
  }
  if (tool.output === undefined) return { content: contentOf(tool, returned) }
  const checked = await tool.output.check(returned)
  if (!checked.ok) return brokenOutput(tool, checked.why, report)
  return { content: [textOf(checked.value)], structuredContent: checked.value }
}

function replyResult(reply: Reply, structured: unknown): JsonObject {
  const content = reply.content ?? (structured === undefined ? [] : [textOf(structured)])
  const result: JsonObject = { content }
  if (structured !== undefined) result['structuredContent'] = structured
  if (reply.isError) result['isError'] = true
  if (reply.meta !== undefined) result['_meta'] = reply.meta
  return result
}

function contentOf(tool: ToolEntry, returned: unknown): ContentBlock[] {
  if (returned === undefined) return []
  if (typeof returned === 'string') return [{ type: 'text', text: returned }]
  const blocks = Array.isArray(returned) ? returned : [returned]
  if (blocks.every(isContent)) return blocks
  throw new TypeError(
    `Tool "${tool.name}" returned neither text nor content. Give it an output schema to return values, or use reply().`,
  )
}

function isContent(value: unknown): value is ContentBlock {
  return isObject(value) && typeof value['type'] === 'string'
}

function textOf(value: unknown): ContentBlock {
  return { type: 'text', text: JSON.stringify(value) ?? 'null' }
}

function brokenOutput(tool: ToolEntry, why: string, report: Report): JsonObject {
  report(new TypeError(`The result does not satisfy the output schema: ${why}`), {
    method: 'tools/call',
    name: tool.name,
  })
  return failedResult(
    `"${tool.name}" gave a result that does not satisfy its own output schema, so it was not sent.`,
  )
}

function failed(text: string): Outcome {
  return { type: 'complete', result: failedResult(text) }
}

function failedResult(text: string): JsonObject {
  return { content: [{ type: 'text', text }], isError: true }
}

function invalid(why: string): RpcError {
  return new RpcError(ErrorCode.InvalidParams, `Invalid params: ${why}`)
}
