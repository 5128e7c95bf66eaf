import { conduct } from '../core/conduct.ts'
import type { Exchange, Outcome } from '../core/exchange.ts'
import { ErrorCode, RpcError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import { HandlerContext } from './make-context.ts'
import type { PromptEntry, Registry } from './registry.ts'

/** Serves `prompts/get`. */
export async function getPrompt(registry: Registry, exchange: Exchange): Promise<Outcome> {
  const { name, arguments: args } = exchange.params
  if (typeof name !== 'string') throw invalid('"name" must be a string')
  const prompt = registry.prompts.get(name)
  if (prompt === undefined)
    throw new RpcError(ErrorCode.InvalidParams, `Unknown prompt: ${name.slice(0, 128)}`)
  const value = await argumentsFor(prompt, args ?? {})
  return conduct(
    exchange,
    async (round) => {
      const ctx = new HandlerContext(exchange, round)
      const returned = await prompt.run(value, ctx)
      ctx.flush()
      return returned
    },
    (returned) => resultOf(prompt, returned),
  )
}

async function argumentsFor(prompt: PromptEntry, args: unknown): Promise<unknown> {
  if (!isObject(args) || Object.values(args).some((value) => typeof value !== 'string')) {
    throw invalid('"arguments" must be an object of strings')
  }
  const missing = prompt.listed.arguments?.find(
    ({ name, required }) => required === true && !Object.hasOwn(args, name),
  )
  if (missing !== undefined) throw invalid(`prompt "${prompt.name}" needs the argument "${missing.name}"`)
  if (prompt.input === undefined) return args
  const checked = await prompt.input.check(args)
  if (!checked.ok) throw invalid(`arguments of prompt "${prompt.name}": ${checked.why}`)
  return checked.value
}

function resultOf(prompt: PromptEntry, returned: unknown): JsonObject {
  const { description } = prompt.definition
  const described = description === undefined ? {} : { description }
  if (typeof returned === 'string') {
    return { ...described, messages: [{ role: 'user', content: { type: 'text', text: returned } }] }
  }
  if (Array.isArray(returned)) return { ...described, messages: returned }
  if (isObject(returned) && Array.isArray(returned['messages'])) return { ...described, ...returned }
  if (isObject(returned) && 'role' in returned) return { ...described, messages: [returned] }
  throw new TypeError(`Prompt "${prompt.name}" must return text, messages, or a result with messages`)
}

function invalid(why: string): RpcError {
  return new RpcError(ErrorCode.InvalidParams, `Invalid params: ${why}`)
}
