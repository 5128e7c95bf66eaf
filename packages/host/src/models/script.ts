import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import type { SamplingContent } from '@jackfield/sdk'
import { readErrorReason } from '../shared/files.ts'
import { isRecord } from '../shared/json.ts'
import { reasonOf } from '../shared/text.ts'
import type { Model, ModelReply } from '../types/index.ts'
import { limitTokens } from './messages.ts'

/** One reply of a scripted model. */
interface ScriptedTurn {
  say?: string
  call?: { name: string; arguments: Record<string, unknown> }[]
  usage?: { inputTokens: number; outputTokens: number }
}

/**
 * A model that returns the replies of a JSON file in order, for demonstrations and tests: `{ "contextTokens"?, "turns": [{
 * "say"?, "call"?: [{ "name", "arguments"? }], "usage"?: { "inputTokens", "outputTokens" } }] }`. Throws an Error that explains
 * what is wrong with the file.
 */
export function scriptModel(file: string): Model {
  const { contextTokens, turns } = readScript(file)
  let next = 0
  return {
    id: `script:${basename(file)}`,
    isLanguageModel: true,
    ...(contextTokens !== undefined && { contextTokens }),
    async generate(request) {
      request.signal?.throwIfAborted()
      // If calls are not allowed, such as for a summary, a reply with calls is kept for later.
      const isDeferred = request.toolChoice === 'none' && turns[next]?.call !== undefined
      const turn: ScriptedTurn = (isDeferred ? undefined : turns[next]) ?? {
        say: 'The script has nothing more to say.',
      }
      if (!isDeferred) next += 1
      const text = turn.say ?? ''
      const content: SamplingContent[] = text === '' ? [] : [{ type: 'text', text }]
      for (const word of text.match(/\s*\S+\s*/g) ?? []) {
        request.onText?.(word)
        await new Promise(setImmediate)
        request.signal?.throwIfAborted()
      }
      for (const [n, call] of (turn.call ?? []).entries())
        content.push({ type: 'tool_use', id: `call-${next}-${n}`, name: call.name, input: call.arguments })
      const reply: ModelReply = {
        content,
        stopReason: turn.call === undefined ? 'endTurn' : 'toolUse',
        model: 'script',
        ...(turn.usage !== undefined && { usage: turn.usage }),
      }
      return limitTokens(reply, request.maxTokens, turn.usage?.outputTokens ?? 0)
    },
  }
}

function readScript(file: string): { contextTokens?: number; turns: ScriptedTurn[] } {
  const fail = (what: string): never => {
    throw new Error(`${file} is not a script for a model: ${what}.`)
  }
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new Error(
      `The script ${file} of the model cannot be read: ${readErrorReason(error)}. Check the path after "script:".`,
      { cause: error },
    )
  }
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (error) {
    return fail(reasonOf(error))
  }
  if (!isRecord(json) || !Array.isArray(json.turns)) return fail('it needs "turns", a list')
  const { contextTokens } = json
  if (contextTokens !== undefined && typeof contextTokens !== 'number')
    return fail('"contextTokens" must be a number')
  const turns = json.turns.map((turn: unknown, n) => readTurn(turn) ?? fail(`turn ${n + 1} is invalid`))
  return { turns, ...(contextTokens !== undefined && { contextTokens }) }
}

function readTurn(turn: unknown): ScriptedTurn | undefined {
  if (!isRecord(turn)) return undefined
  const { say, call, usage } = turn
  if (say !== undefined && typeof say !== 'string') return undefined
  const calls: NonNullable<ScriptedTurn['call']> = []
  if (call !== undefined) {
    if (!Array.isArray(call)) return undefined
    for (const item of call) {
      if (!isRecord(item) || typeof item.name !== 'string') return undefined
      const args = item.arguments ?? {}
      if (!isRecord(args)) return undefined
      calls.push({ name: item.name, arguments: args })
    }
  }
  const tokens = isRecord(usage) ? [usage.inputTokens, usage.outputTokens] : []
  const [inputTokens, outputTokens] = tokens
  const hasUsage = typeof inputTokens === 'number' && typeof outputTokens === 'number'
  if (usage !== undefined && !hasUsage) return undefined
  return {
    ...(say !== undefined && { say }),
    ...(calls.length > 0 && { call: calls }),
    ...(hasUsage && { usage: { inputTokens, outputTokens } }),
  }
}
