import type { Exchange, Outcome } from '../core/exchange.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import type { Prompt } from '../protocol/definitions.ts'
import { faultOfContent, reported, requireWritable } from './content.ts'
import type { Context } from './context.ts'
import { clipped, invalidParams, runHandler, shownToPeer } from './run.ts'
import type { Prepared } from './schema.ts'

/** A prompt as it is served. */
interface Served {
  readonly listed: Prompt
  readonly input: Prepared | undefined
  readonly run: (args: unknown, ctx: Context) => unknown
}

/** Serves a request for a prompt. */
export async function getPrompt(prompt: Served, exchange: Exchange): Promise<Outcome> {
  const value = await argumentsFor(prompt, exchange.params['arguments'] ?? {})
  try {
    return await runHandler(
      exchange,
      (ctx) => prompt.run(value, ctx),
      (returned) => resultOf(prompt, returned),
    )
  } catch (error) {
    return shownToPeer(await reported(error))
  }
}

async function argumentsFor(prompt: Served, args: unknown): Promise<unknown> {
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
  if (!checked.ok) throw invalidParams(`arguments of prompt "${prompt.listed.name}": ${checked.why}`)
  return checked.value
}

function resultOf(prompt: Served, returned: unknown): JsonObject {
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
  requireWritable('the result', result)
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
