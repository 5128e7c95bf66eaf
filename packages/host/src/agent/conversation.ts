import { randomUUID } from 'node:crypto'
import type {
  CallToolResult,
  ContentBlock,
  SamplingMessage,
  ToolResultContent,
  ToolUseContent,
} from '@jackfield/sdk'
import type { Decision, Host, Model, ModelReply, ModelRequest } from '../types/index.ts'
import { systemPrompt } from './instructions.ts'
import { meant } from './search-tools.ts'
import { performCall } from './tool-calls.ts'
import { createToolOffer } from './tool-offer.ts'

/** What happens to one tool call of the model. */
export type ToolCallEvent =
  | { type: 'start'; id: string; name: string; arguments: Record<string, unknown> }
  | {
      type: 'end'
      id: string
      name: string
      result: CallToolResult
      /** Set when policy or the person refused. */
      denied: boolean
      /** Absent for the conversation's own tools, which change nothing. */
      decision?: Decision
    }

/** What one turn of a conversation tells while it runs, and how to end it. */
export interface SayOptions {
  /** Hears the model's text as it is made. */
  onText?: (delta: string) => void
  onToolCall?: (event: ToolCallEvent) => void
  /** Ends the turn; calls under way are cancelled. */
  signal?: AbortSignal
}

/** How one turn of the person ended. */
export interface Turn {
  /** The model's text after its last tool call. */
  text: string
  /** `maxTurns`: the model still wanted tools when the bound was reached. `cancelled`: the signal was aborted. */
  stopReason: ModelReply['stopReason'] | 'maxTurns' | 'cancelled'
  /** How often the model was asked. */
  rounds: number
  usage: { inputTokens: number; outputTokens: number }
}

type Tally = Pick<Turn, 'rounds' | 'usage'>

/** Something the person says: words, or whole messages such as those of a prompt (see `promptMessages`). */
export type Said = string | readonly SamplingMessage[]

/**
 * What a conversation runs on: the host with its tools, the model that answers, and how much of both one
 * turn may use.
 */
export interface ConversationOptions {
  host: Host
  model: Model
  /** What answers remembered for this conversation and labels of data it saw are kept under. Default a new id. */
  id?: string
  /** Added to the system prompt. */
  system?: string
  /** How often the model may be asked in one turn. Default 25. */
  maxTurns?: number
  /** Tokens of one reply. Default 8 192. */
  maxTokens?: number
  /** Characters of one tool result that the model gets. Default 20 000. */
  resultCharacters?: number
  /** Lets the model write programs that call the tools (`run_code`, `describe_api`). Default false. */
  codeMode?: boolean
}

/** One conversation of a person with a model that uses the host's tools. */
export interface Conversation {
  /** Unlike that of any other conversation. */
  readonly id: string
  /** Everything said so far, as the model sees it. */
  readonly messages: readonly SamplingMessage[]
  /** The model that answers; another one takes over from the next `say`. */
  model: Model
  /** Lets the model answer, running the tools it asks for. Rejects when the model fails; the conversation can go on. */
  say(said: Said, options?: SayOptions): Promise<Turn>
}

/** Starts a conversation. Every tool call goes through the host's broker as caller `chat`. */
export function createConversation(options: ConversationOptions): Conversation {
  const { host, maxTurns = 25, maxTokens = 8_192, resultCharacters = 20_000 } = options
  const { id = randomUUID(), codeMode = false } = options
  const messages: SamplingMessage[] = []
  const offer = createToolOffer(host, { codeMode })
  let model = options.model
  let busy = false

  /** Tells the model of tools that came, went or changed. */
  function tellOfTools(): void {
    const text = offer.update(model)
    if (text !== undefined) messages.push({ role: 'user', content: { type: 'text', text } })
  }

  async function ask(request: ModelRequest): Promise<{ reply: ModelReply; row: number }> {
    const started = performance.now()
    const row = { kind: 'model', server: null, cause: null } as const
    try {
      const reply = await model.generate(request)
      const uses = toolUses(reply)
      const wants = uses.length === 0 ? '' : `, wants ${uses.map((use) => use.name).join(', ')}`
      const id = host.record({
        ...row,
        summary: `${model.id} answered${wants}`,
        outcome: 'ok',
        durationMs: Math.round(performance.now() - started),
        detail: {
          model: reply.model,
          stopReason: reply.stopReason,
          usage: reply.usage ?? null,
          content: reply.content,
        },
      })
      return { reply, row: id }
    } catch (error) {
      const cancelled = request.signal?.aborted === true
      host.record({
        ...row,
        summary: cancelled ? `${model.id} was interrupted` : `${model.id} gave no answer`,
        outcome: cancelled ? 'cancelled' : 'error',
        durationMs: Math.round(performance.now() - started),
        detail: { error: error instanceof Error ? error.message : String(error) },
      })
      throw error
    }
  }

  async function run(use: ToolUseContent, cause: number, say: SayOptions): Promise<ToolResultContent> {
    const wanted = meant(use)
    say.onToolCall?.({ type: 'start', id: use.id, name: wanted.name, arguments: wanted.input })
    const origin = { conversation: id, cause, ...(say.signal !== undefined && { signal: say.signal }) }
    const { activity, ...outcome } = await performCall(host, wanted, origin, codeMode)
    say.onToolCall?.({ type: 'end', id: use.id, name: wanted.name, ...outcome })
    return toolResult(use, outcome.result, fitted(wanted.name, outcome.result, activity))
  }

  /** What the model gets of a result; what is too large for it is kept, to be read in parts. */
  function fitted(name: string, result: CallToolResult, activity: number | undefined): ContentBlock[] {
    const entry = host.tools().find((one) => one.name === name)
    return host.results.fit(result, {
      characters: resultCharacters,
      conversation: id,
      tool: entry?.tool.name ?? name,
      ...(entry !== undefined && { server: entry.server }),
      ...(activity !== undefined && { activity }),
    })
  }

  /** Runs the calls one after another; every one gets a result, also those that a cancel left over. */
  async function runAll(uses: ToolUseContent[], cause: number, say: SayOptions): Promise<void> {
    const results: ToolResultContent[] = []
    try {
      for (const use of uses) {
        say.signal?.throwIfAborted()
        results.push(await run(use, cause, say))
      }
    } finally {
      for (const use of uses.slice(results.length)) {
        results.push(plainResult(use, failed('The person stopped this turn; the call has no result.')))
      }
      messages.push({ role: 'user', content: results })
    }
  }

  async function turn(say: SayOptions, tally: Tally): Promise<Turn> {
    const system = systemPrompt(host, options.system)
    for (;;) {
      tally.rounds += 1
      const { reply, row } = await ask({
        system,
        messages: [...messages],
        tools: offer.tools(model),
        maxTokens,
        ...(say.signal !== undefined && { signal: say.signal }),
        ...(say.onText !== undefined && { onText: say.onText }),
      })
      tally.usage.inputTokens += reply.usage?.inputTokens ?? 0
      tally.usage.outputTokens += reply.usage?.outputTokens ?? 0
      const uses = toolUses(reply)
      messages.push({ role: 'assistant', content: reply.content })
      const end = (stopReason: Turn['stopReason']): Turn => ({ text: textOf(reply), stopReason, ...tally })
      if (uses.length === 0) return end(reply.stopReason)
      if (reply.stopReason === 'maxTokens') {
        const cut = failed('The reply was cut off at its token limit, so this call was not run.')
        messages.push({ role: 'user', content: uses.map((use) => plainResult(use, cut)) })
        return end('maxTokens')
      }
      await runAll(uses, row, say)
      tellOfTools()
      if (tally.rounds >= maxTurns) return end('maxTurns')
    }
  }

  return {
    id,
    messages,
    get model() {
      return model
    },
    set model(next) {
      model = next
    },
    async say(said, say = {}) {
      if (busy) throw new Error('The conversation is still answering; wait for it or abort its signal.')
      busy = true
      const tally: Tally = { rounds: 0, usage: { inputTokens: 0, outputTokens: 0 } }
      try {
        tellOfTools()
        if (typeof said === 'string') messages.push({ role: 'user', content: { type: 'text', text: said } })
        else messages.push(...said)
        return await turn(say, tally)
      } catch (error) {
        if (say.signal?.aborted !== true) throw error
        return { text: '', stopReason: 'cancelled', ...tally }
      } finally {
        busy = false
      }
    },
  }
}

function toolUses(reply: ModelReply): ToolUseContent[] {
  const blocks = Array.isArray(reply.content) ? reply.content : [reply.content]
  return blocks.filter((block) => block.type === 'tool_use')
}

function textOf(reply: ModelReply): string {
  const blocks = Array.isArray(reply.content) ? reply.content : [reply.content]
  return blocks.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n\n')
}

function plainResult(use: ToolUseContent, result: CallToolResult): ToolResultContent {
  return toolResult(use, result, result.content)
}

function toolResult(
  use: ToolUseContent,
  result: CallToolResult,
  content: readonly ContentBlock[],
): ToolResultContent {
  return {
    type: 'tool_result',
    toolUseId: use.id,
    content: [...content],
    ...(result.isError === true && { isError: true }),
  }
}

function failed(message: string): CallToolResult {
  return { content: [{ type: 'text', text: message }], isError: true }
}
