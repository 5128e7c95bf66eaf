import type { Exchange, Outcome } from '../core/exchange.ts'
import { ErrorCode, RpcError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import { isContent } from './content.ts'
import type { PromptEntry, Registry } from './registry.ts'
import { clipped, invalidParams, runHandler, shownToPeer } from './run.ts'

/** Serves `prompts/get`. */
export async function getPrompt(registry: Registry, exchange: Exchange): Promise<Outcome> {
  const { name, arguments: args } = exchange.params
  if (typeof name !== 'string') throw invalidParams('"name" must be a string')
  const prompt = registry.prompts.get(name)
  if (prompt === undefined) throw new RpcError(ErrorCode.InvalidParams, `Unknown prompt: ${clipped(name)}`)
  const value = await argumentsFor(prompt, args ?? {})
  return runHandler(
    exchange,
    (ctx) => prompt.run(value, ctx),
    (returned) => resultOf(prompt, returned),
  ).catch(shownToPeer)
}

async function argumentsFor(prompt: PromptEntry, args: unknown): Promise<unknown> {
  if (!isObject(args) || Object.values(args).some((value) => typeof value !== 'string')) {
    throw invalidParams('"arguments" must be an object of strings')
  }
  const missing = prompt.listed.arguments?.find(
    ({ name, required }) => required === true && !Object.hasOwn(args, name),
  )
  if (missing !== undefined)
    throw invalidParams(`prompt "${prompt.name}" needs the argument "${missing.name}"`)
  if (prompt.input === undefined) {
    const [unknown] = Object.keys(args)
    if (unknown === undefined) return args
    throw invalidParams(`prompt "${prompt.name}" takes no arguments, so leave out "${clipped(unknown)}"`)
  }
  const checked = await prompt.input.check(args)
  if (!checked.ok) throw invalidParams(`arguments of prompt "${prompt.name}": ${checked.why}`)
  return checked.value
}

function resultOf(prompt: PromptEntry, returned: unknown): JsonObject {
  const { description } = prompt.listed
  const described = description === undefined ? {} : { description }
  if (typeof returned === 'string') {
    return { ...described, messages: [{ role: 'user', content: { type: 'text', text: returned } }] }
  }
  const whole = isObject(returned) && Array.isArray(returned['messages']) ? returned : undefined
  const messages: unknown = whole?.['messages'] ?? (Array.isArray(returned) ? returned : [returned])
  if (Array.isArray(messages) && messages.every(isMessage)) return { ...described, ...whole, messages }
  throw new TypeError(
    `Prompt "${prompt.name}" must return text, messages with a "role" and a "content", or a result with "messages"`,
  )
}

function isMessage(value: unknown): boolean {
  return (
    isObject(value) &&
    (value['role'] === 'user' || value['role'] === 'assistant') &&
    isContent(value['content'])
  )
}
