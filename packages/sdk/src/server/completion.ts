import { clipped, invalid, invalidParams, RpcError } from '../jsonrpc/error.ts'
import { isObject } from '../jsonrpc/parse.ts'
import type { Exchange, Outcome } from '../request/exchange.ts'
import type { Completer, CompletionContext } from './context.ts'
import { HandlerContext, withoutQuestions } from './handler-context.ts'
import type { Registry } from './registry.ts'
import type { Report } from './tool.ts'

const maxValues = 100

/** Serves `completion/complete`. If a completer throws, the result is empty and the error is reported. */
export async function complete(registry: Registry, exchange: Exchange, report: Report): Promise<Outcome> {
  const { ref, argument, context } = exchange.params
  if (!isObject(argument) || typeof argument['name'] !== 'string' || typeof argument['value'] !== 'string') {
    throw invalidParams('"argument" must have a "name" and a "value"')
  }
  const { name, value } = argument
  const chosen = chosenArguments(context)
  const { label, names, completers } = targetOf(registry, ref)
  if (!names.includes(name)) throw invalidParams(`${label} has no argument "${clipped(name)}"`)
  let values: readonly string[] = []
  try {
    values = (await completers.get(name)?.(value, new CompletionHandlerContext(exchange, chosen))) ?? []
  } catch (error) {
    if (error instanceof RpcError) throw error
    if (!exchange.signal.aborted) report(error, { method: exchange.method })
  }
  const total = values.length
  const completion = { values: values.slice(0, maxValues), total, hasMore: total > maxValues }
  return { type: 'complete', result: { completion } }
}

/** On a session a completion can request roots; 2026-07-28 has no input requests in completions. */
class CompletionHandlerContext extends HandlerContext implements CompletionContext {
  readonly arguments: Readonly<Record<string, string>>

  constructor(exchange: Exchange, chosen: Readonly<Record<string, string>>) {
    const { inputStrategy } = exchange
    const without = withoutQuestions('A completion')
    const run =
      inputStrategy.relay === undefined ? without : { ...without, get: () => inputStrategy.begin(exchange) }
    super(exchange, run, { progressAndLogs: undefined, isOver: true })
    this.arguments = chosen
  }
}

function chosenArguments(context: unknown): Record<string, string> {
  const args = isObject(context) ? context['arguments'] : context
  if (args === undefined) return {}
  if (isObject(args) && Object.values(args).every((value) => typeof value === 'string')) {
    return Object.fromEntries(Object.entries(args).map(([name, value]) => [name, String(value)]))
  }
  throw invalidParams('"context.arguments" must be an object of strings')
}

function targetOf(
  registry: Registry,
  ref: unknown,
): { label: string; names: readonly string[]; completers: ReadonlyMap<string, Completer> } {
  const { type, name, uri } = isObject(ref) ? ref : {}
  if (type === 'ref/prompt' && typeof name === 'string') {
    const prompt = registry.prompts.get(name)
    if (prompt === undefined) throw invalidParams(`unknown prompt "${clipped(name)}"`)
    const names = prompt.listed.arguments?.map((argument) => argument.name) ?? []
    return { label: `prompt "${name}"`, names, completers: prompt.completers }
  }
  if (type === 'ref/resource' && typeof uri === 'string') {
    const entry = registry.templateOf(uri)
    if (entry !== undefined) {
      return { label: `template "${uri}"`, names: entry.template.names, completers: entry.completers }
    }
    if (registry.resourceAt(uri) !== undefined) {
      return { label: `resource "${uri}"`, names: [], completers: new Map() }
    }
    throw invalidParams(`unknown resource template "${clipped(uri)}"`)
  }
  throw invalidParams('"ref" must be a ref/prompt with a "name" or a ref/resource with a "uri"')
}

/** The completers of a definition, by argument. @throws McpError 'INVALID' for an unknown argument */
export function completersOf(
  what: string,
  complete: object | undefined,
  names: readonly string[],
): ReadonlyMap<string, Completer> {
  const completers = new Map<string, Completer>()
  for (const [name, completer] of Object.entries(complete ?? {})) {
    if (!names.includes(name)) throw invalid(`${what} completes "${name}", which is not one of its arguments`)
    if (isCompleter(completer)) completers.set(name, completer)
  }
  return completers
}

function isCompleter(value: unknown): value is Completer {
  return typeof value === 'function'
}
