import type { Exchange, Outcome } from '../core/exchange.ts'
import { ErrorCode, RpcError } from '../jsonrpc/error.ts'
import { isObject } from '../jsonrpc/parse.ts'
import type { Completer } from './context.ts'
import type { Registry } from './registry.ts'
import type { Report } from './tools.ts'

const maxValues = 100

/** Serves `completion/complete`. A completer that fails suggests nothing, and its failure is reported. */
export async function complete(registry: Registry, exchange: Exchange, report: Report): Promise<Outcome> {
  const { ref, argument, context } = exchange.params
  if (!isObject(argument) || typeof argument['name'] !== 'string' || typeof argument['value'] !== 'string') {
    throw invalid('"argument" must have a "name" and a "value"')
  }
  const { name, value } = argument
  const completer = completersOf(registry, ref).get(name)
  const values = completer === undefined ? [] : await suggest(completer, value, exchange, context, report)
  const total = values.length
  const completion = { values: values.slice(0, maxValues), total, hasMore: total > maxValues }
  return { type: 'complete', result: { completion } }
}

async function suggest(
  completer: Completer,
  value: string,
  exchange: Exchange,
  context: unknown,
  report: Report,
): Promise<readonly string[]> {
  const { peer } = exchange
  try {
    return await completer(value, {
      arguments: chosen(context),
      peer,
      get signal() {
        return exchange.signal
      },
    })
  } catch (error) {
    if (error instanceof RpcError) throw error
    report(error, { method: exchange.method })
    return []
  }
}

function chosen(context: unknown): Record<string, string> {
  const args = isObject(context) && isObject(context['arguments']) ? context['arguments'] : {}
  const strings = Object.entries(args).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  )
  return Object.fromEntries(strings)
}

function completersOf(registry: Registry, ref: unknown): ReadonlyMap<string, Completer> {
  if (isObject(ref) && ref['type'] === 'ref/prompt' && typeof ref['name'] === 'string') {
    const prompt = registry.prompts.get(ref['name'])
    if (prompt === undefined) throw invalid(`unknown prompt "${ref['name'].slice(0, 128)}"`)
    return new Map(Object.entries(prompt.definition.complete ?? {}))
  }
  if (isObject(ref) && ref['type'] === 'ref/resource' && typeof ref['uri'] === 'string') {
    for (const entry of registry.templates.values()) {
      if (entry.listed.uriTemplate === ref['uri']) return new Map(Object.entries(entry.complete))
    }
    if (registry.resourceAt(ref['uri']) !== undefined) return new Map()
    throw invalid(`unknown resource template "${ref['uri'].slice(0, 256)}"`)
  }
  throw invalid('"ref" must be a ref/prompt with a "name" or a ref/resource with a "uri"')
}

function invalid(why: string): RpcError {
  return new RpcError(ErrorCode.InvalidParams, `Invalid params: ${why}`)
}
