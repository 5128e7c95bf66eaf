import {
  type CallToolResult,
  type ContentBlock,
  McpError,
  type SamplingMessage,
  type ToolUseContent,
} from '@jackfield/sdk'
import { forModel } from '../../shared/audience.ts'
import { reasonWithFixes } from '../../shared/failures.ts'
import { oneLine, reasonOf } from '../../shared/text.ts'
import type {
  BrokeredCall,
  CatalogTool,
  ConversationCall,
  Decision,
  Host,
  HostTask,
  InboxItem,
  Model,
  ModelReply,
  ModelRequest,
  ModelUsage,
  ToolSwitch,
} from '../../types/index.ts'
import { askModel } from './ask-model.ts'
import { failed, toolResult, toolUses, wordsOf } from './blocks.ts'
import { systemPrompt } from './instructions.ts'
import { deferredResult, lateResultMessages, performUntilDeferred } from './late-calls.ts'
import { meant } from './search-tools.ts'
import { summaryRequest } from './summary.ts'
import type { ToolOutcome } from './tool-calls.ts'
import { createToolOffer } from './tool-offer.ts'
import { isSwitchedOn, switched } from './tool-switches.ts'
import { Transcript } from './transcript.ts'

/** What happens to one tool call of the model. */
export type ToolCallEvent =
  | { type: 'start'; id: string; name: string; arguments: Record<string, unknown> }
  /** The person left a question of the call for later: the turn continues, and `onLate` is called when the call ends. */
  | { type: 'later'; id: string; name: string; item: InboxItem }
  /** The server takes long for the task that it made of the call: likewise. */
  | { type: 'task'; id: string; name: string; task: HostTask }
  | {
      type: 'end'
      id: string
      name: string
      result: CallToolResult
      /** Set when policy or the person refused. */
      denied: boolean
      /** Absent for the conversation's own tools, which change nothing. */
      decision?: Decision
      /** The row of the call, where there is one. */
      activity?: number
    }

/** How a call ended whose question the person had left for later. */
export type LateResult = Extract<ToolCallEvent, { type: 'end' }>

/** What one turn of a conversation tells while it runs, and how to end it. */
export interface SayOptions {
  /** Hears the model's text as it is made. */
  onText?: (delta: string) => void
  onToolCall?: (event: ToolCallEvent) => void
  /** The model is asked again, after a pause. */
  onWait?: ModelRequest['onWait']
  /** Ends the turn; calls under way are cancelled. */
  signal?: AbortSignal
}

/** How one turn of the person ended. */
export interface Turn {
  /** The model's text after its last tool call. */
  text: string
  /**
   * `maxTurns`: the model still wanted tools when the bound was reached. `maxCalls`: it wanted more tool calls than it
   * may make; saying something continues the work. `cancelled`: the signal was aborted.
   */
  stopReason: ModelReply['stopReason'] | 'maxTurns' | 'maxCalls' | 'cancelled'
  /** Tool calls that were not run because of `maxCalls` or `maxCallsPerReply`; the model got an error for each. Absent where all were run. */
  callsNotRun?: number
  /** How often the model was asked. */
  rounds: number
  usage: { inputTokens: number; outputTokens: number }
}

/** Characters of unreadable arguments that the model is shown. */
const maxWritten = 200

type Tally = Pick<Turn, 'rounds' | 'usage'> & { calls: number }

/** Something the person says: words, or whole messages such as those of a prompt (see `promptMessages`). */
export type UserInput = string | readonly SamplingMessage[]

/**
 * What a conversation runs on: the host with its tools, the model that answers, and how much of both one
 * turn may use.
 */
export interface ConversationOptions {
  host: Host
  model: Model
  /** What it is kept under, with answers remembered for it and labels of data it saw. Default a new id. */
  id?: string
  /** Goes on with a kept one: its id, or the beginning of it. */
  resume?: string
  /** Added to the system prompt. */
  system?: string
  /** How often the model may be asked in one turn. Default 25. */
  maxTurns?: number
  /** Tool calls of one turn, those of programs (`run_code`) included. Default 200. */
  maxCalls?: number
  /** Tool calls that the model may ask for in one reply. Default 50. */
  maxCallsPerReply?: number
  /** Milliseconds for which a turn waits for a call that is a task; its result comes later. Default 10 000. */
  taskPatienceMs?: number
  /** Tokens of one reply. Default 8 192. */
  maxTokens?: number
  /** Characters of one tool result that the model gets. Default 20 000. */
  resultCharacters?: number
  /** Lets the model write programs that call the tools (`run_code`, `describe_api`). Default false. */
  codeMode?: boolean
  /** Hears how calls end whose question the person had left for later. The model is told with the next turn. */
  onLate?: (result: LateResult) => void
}

/** One conversation of a person with a model that uses the host's tools. */
export interface Conversation {
  /** Unlike that of any other conversation. */
  readonly id: string
  /** Everything said so far, as the model sees it. */
  readonly messages: readonly SamplingMessage[]
  /** The person's first words, until it is given another one. */
  title: string
  /** What it cost so far, by model. */
  readonly usage: readonly ModelUsage[]
  /** Tokens that the last request and its reply filled of the model's context; undefined where that is not known. */
  readonly contextTokens: number | undefined
  /** Every tool call of the model, in order. A call keeps its place for good, also in forks. */
  readonly calls: readonly ConversationCall[]
  /** Which tools the person switched on or off, in the order they did. The last one that fits a tool counts. */
  readonly toolSwitches: readonly ToolSwitch[]
  /** Calls without a result, since the program ended while they were under way. The model is told so. */
  readonly unfinished: readonly ToolUseContent[]
  /** The model that answers; another one takes over from the next `say`. */
  model: Model
  /** Lets the model answer, running the tools it asks for. Rejects when the model fails; the conversation can go on. */
  say(said: UserInput, options?: SayOptions): Promise<Turn>
  /**
   * Switches tools on or off for the model of this conversation, from its next request on: what is off is not offered,
   * and a call of it is refused. The person can call it all the same. It is kept with the conversation and its forks.
   * @throws McpError 'INVALID' for a pattern that fits no tool, no server and no earlier switch; nothing changes then
   */
  switchTools(on: boolean, patterns: readonly string[]): void
  /** Whether the model is offered this tool. */
  isToolOn(tool: Pick<CatalogTool, 'server' | 'name' | 'tool'>): boolean
  /** Asks the model for a summary of everything so far. Nothing changes by it, see `compact`. */
  summarize(options?: Pick<SayOptions, 'onText' | 'onWait' | 'signal'>): Promise<string>
  /** Adds the result of a call that an earlier program made: the model gets it with the next turn. */
  addLateResult(name: string, call: Pick<BrokeredCall, 'result' | 'denied' | 'activity'>): void
  /** From here on the model gets this summary in place of everything before, which stays kept. */
  compact(summary: string): void
}

/**
 * Starts a conversation, or goes on with a kept one. Every tool call goes through the host's broker as caller `chat`, and
 * everything that is said is kept at `host.conversations`.
 * @throws McpError 'INVALID' where there is none to resume
 */
export function createConversation(options: ConversationOptions): Conversation {
  const { host, id, resume, codeMode = false } = options
  const { maxTurns = 25, maxTokens = 8_192, resultCharacters = 20_000 } = options
  const { maxCalls = 200, maxCallsPerReply = 50 } = options
  const late: SamplingMessage[] = []
  const begun = id === undefined ? undefined : { id }
  const transcript = new Transcript(host.conversations, resume === undefined ? begun : { resume })
  const isOn = (entry: Pick<CatalogTool, 'server' | 'name' | 'tool'>): boolean =>
    isSwitchedOn(entry, transcript.switches)
  let offer = createToolOffer(host, { codeMode, isOn })
  let model = options.model
  let busy = false
  host.sampling.setModel(transcript.id, model)

  async function ask(
    request: Pick<ModelRequest, 'messages' | 'toolChoice'>,
    { signal, onText, onWait }: SayOptions,
  ): Promise<{ reply: ModelReply; row: number; usage: ModelUsage | undefined }> {
    const asked = model
    const { reply, row } = await askModel(host, asked, {
      ...request,
      system: systemPrompt(host, options.system),
      tools: offer.tools(asked),
      maxTokens,
      ...(signal !== undefined && { signal }),
      ...(onText !== undefined && { onText }),
      ...(onWait !== undefined && { onWait }),
    })
    return { reply, row, usage: reply.usage && { model: asked.id, ...reply.usage } }
  }

  async function run(
    use: ToolUseContent,
    written: string | undefined,
    cause: number,
    say: SayOptions,
    tally: Tally,
  ): Promise<void> {
    const wanted = meant(use)
    tally.calls += 1
    say.onToolCall?.({ type: 'start', id: use.id, name: wanted.name, arguments: wanted.input })
    if (written !== undefined) {
      const result = failed(unreadableArguments(use.name, written))
      transcript.result(toolResult(use, result))
      say.onToolCall?.(ended(use.id, wanted.name, { result, denied: false }))
      return
    }
    const origin = {
      conversation: transcript.id,
      cause,
      maxCalls: maxCalls - tally.calls,
      ...(say.signal !== undefined && { signal: say.signal }),
    }
    const done = await performUntilDeferred(host, wanted, origin, { codeMode, isOn }, options.taskPatienceMs)
    if ('later' in done) {
      transcript.result(toolResult(use, deferredResult(done.later)), done.activity)
      say.onToolCall?.({
        id: use.id,
        name: wanted.name,
        ...('task' in done.later
          ? { type: 'task', task: done.later.task }
          : { type: 'later', item: done.later.question }),
      })
      done.outcome
        .catch(lostCall)
        .then((outcome) => takeLate(use.id, wanted.name, outcome))
        .catch((error: unknown) => process.emitWarning(`A late result was lost: ${reasonOf(error)}`))
      return
    }
    tally.calls += done.calls ?? 0
    const { activity } = done
    transcript.result(toolResult(use, done.result, fitted(wanted.name, done.result, activity)), activity)
    say.onToolCall?.(ended(use.id, wanted.name, done))
  }

  /** A call is over whose question was left for later. */
  function takeLate(id: string, name: string, outcome: ToolOutcome): void {
    if (outcome.suspended === true) return
    late.push(lateResultMessages(name, outcome.result, fitted(name, outcome.result, outcome.activity)))
    if (!busy) tellLateWhereKept()
    if (id !== '') options.onLate?.(ended(id, name, outcome))
  }

  /** Between turns, what came late is kept at once where that is possible; else the next turn tells it. */
  function tellLateWhereKept(): void {
    try {
      tellLate()
    } catch {
      // Another window has the conversation, or the host is closed: the next turn says so.
    }
  }

  /** Tells the model what came after the turn that called for it. */
  function tellLate(): void {
    for (let next = late[0]; next !== undefined; next = late[0]) {
      transcript.addNote(next)
      late.shift()
    }
  }

  /** What the model gets of a result; what is too large for it is kept, to be read in parts. */
  function fitted(name: string, result: CallToolResult, activity: number | undefined): ContentBlock[] {
    const entry = host.tools().find((one) => one.name === name)
    return host.results.fit(forModel(result), {
      characters: resultCharacters,
      conversation: transcript.id,
      tool: entry?.tool.name ?? name,
      ...(entry !== undefined && { server: entry.server }),
      ...(activity !== undefined && { activity }),
    })
  }

  /**
   * Runs the calls one after another, as many as one reply and one turn may make. Every one gets a result, also those that
   * were not run. Returns how many are over the bound.
   */
  async function runAll(
    uses: ToolUseContent[],
    unreadable: NonNullable<ModelReply['unreadable']>,
    cause: number,
    say: SayOptions,
    tally: Tally,
  ): Promise<number> {
    let done = 0
    let bound: string | undefined
    try {
      for (const use of uses) {
        say.signal?.throwIfAborted()
        bound = boundReached(done, tally)
        if (bound !== undefined) return uses.length - done
        const written = Object.hasOwn(unreadable, use.id) ? unreadable[use.id] : undefined
        await run(use, written, cause, say, tally)
        done += 1
      }
      return 0
    } finally {
      const ended =
        say.signal?.aborted === true ? 'The person stopped this turn' : 'This turn ended with an error'
      const reason = failed(bound ?? `${ended}; the call has no result.`)
      for (const use of uses.slice(done)) transcript.result(toolResult(use, reason))
    }
  }

  function boundReached(ofReply: number, { calls }: Tally): string | undefined {
    const over = (what: string, most: number): string =>
      `This call was not run: ${what} may make ${most} tool calls. The person decides whether to continue.`
    if (calls >= maxCalls) return over('one turn', maxCalls)
    return ofReply >= maxCallsPerReply ? over('one reply', maxCallsPerReply) : undefined
  }

  async function turn(say: SayOptions, tally: Tally): Promise<Turn> {
    for (;;) {
      tally.rounds += 1
      const { reply, row, usage } = await ask({ messages: [...transcript.messages] }, say)
      tally.usage.inputTokens += usage?.inputTokens ?? 0
      tally.usage.outputTokens += usage?.outputTokens ?? 0
      const uses = toolUses(reply)
      transcript.replied(reply.content, usage)
      const { calls: _calls, ...counts } = tally
      const end = (stopReason: Turn['stopReason']): Turn => ({ text: wordsOf(reply), stopReason, ...counts })
      if (uses.length === 0) return end(reply.stopReason)
      if (reply.stopReason === 'maxTokens') {
        const cut = failed('The reply was cut off at its token limit, so this call was not run.')
        for (const use of uses) transcript.result(toolResult(use, cut))
        return end('maxTokens')
      }
      const callsNotRun = await runAll(uses, reply.unreadable ?? {}, row, say, tally)
      tellLate()
      const news = offer.update(model)
      if (news !== undefined) transcript.addLateResult(news)
      if (callsNotRun > 0) return { ...end('maxCalls'), callsNotRun }
      if (tally.rounds >= maxTurns) return end('maxTurns')
    }
  }

  /** One thing at a time is asked of the model. */
  async function alone<T>(work: () => Promise<T>): Promise<T> {
    refuseWhileBusy()
    busy = true
    try {
      return await work()
    } finally {
      busy = false
      tellLateWhereKept()
    }
  }

  function refuseWhileBusy(): void {
    if (busy) throw new Error('The conversation is still answering; wait for it or abort its signal.')
  }

  return {
    id: transcript.id,
    messages: transcript.messages,
    calls: transcript.calls,
    get toolSwitches() {
      return transcript.switches
    },
    switchTools(on, patterns) {
      transcript.switches = switched(transcript.switches, on, patterns, host)
    },
    isToolOn: isOn,
    unfinished: transcript.unfinished,
    get usage() {
      return transcript.usage
    },
    get contextTokens() {
      return transcript.filled
    },
    get title() {
      return transcript.title
    },
    set title(title) {
      transcript.title = title
    },
    get model() {
      return model
    },
    set model(next) {
      model = next
      host.sampling.setModel(transcript.id, next)
    },
    say: (said, say = {}) =>
      alone(async () => {
        const tally: Tally = { rounds: 0, usage: { inputTokens: 0, outputTokens: 0 }, calls: 0 }
        const words = typeof said === 'string' ? [userText(said)] : said
        tellLate()
        transcript.begin(model.id, offer.update(model), words)
        try {
          return await turn(say, tally)
        } catch (error) {
          if (say.signal?.aborted !== true) throw error
          const { rounds, usage } = tally
          return { text: '', stopReason: 'cancelled', rounds, usage }
        }
      }),
    summarize: (say = {}) =>
      alone(async () => {
        if (transcript.messages.length === 0)
          throw new McpError('INVALID', 'Nothing was said yet that could be summarized.')
        offer.update(model)
        const messages = [...transcript.messages, summaryRequest]
        const { reply, usage } = await ask({ messages, toolChoice: 'none' }, say)
        if (usage !== undefined) transcript.used(usage)
        const text = wordsOf(reply).trim()
        if (text === '')
          throw new McpError('INVALID', `${model.id} gave no summary. Try again, or use another model.`)
        return text
      }),
    addLateResult: (name, call) => takeLate('', name, call),
    compact(summary) {
      refuseWhileBusy()
      if (summary.trim() === '') throw new McpError('INVALID', 'A summary needs words.')
      transcript.summarize(summary.trim())
      // What the model was told of changed tools is gone with the rest.
      offer = createToolOffer(host, { codeMode, isOn })
    },
  }
}

function ended(
  id: string,
  name: string,
  { activity, suspended: _parked, calls: _calls, ...outcome }: ToolOutcome,
): LateResult {
  return { type: 'end', id, name, ...outcome, ...(activity !== undefined && { activity }) }
}

function unreadableArguments(name: string, written: string): string {
  const shown = oneLine(written)
  const start = shown.length > maxWritten ? `${shown.slice(0, maxWritten)}…` : shown
  return `${name} was not called: its arguments must be one JSON object, and these cannot be read: ${start} Call it again with a whole JSON object.`
}

function lostCall(error: unknown): ToolOutcome {
  return { result: failed(`The call failed: ${reasonWithFixes(error)}`), denied: false }
}

function userText(text: string): SamplingMessage {
  return { role: 'user', content: { type: 'text', text } }
}
