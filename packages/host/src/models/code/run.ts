import { type CallToolResult, type ContentBlock, McpError } from '@jackfield/sdk'
import { readJson } from '@jackfield/sdk/internal'
import { forModel } from '../../shared/audience.ts'
import { reasonWithFixes } from '../../shared/failures.ts'
import { isRecord, type JsonRecord, parsed } from '../../shared/json.ts'
import { oneLine } from '../../shared/text.ts'
import type {
  BrokeredCall,
  CatalogTool,
  CodeCall,
  CodeOptions,
  CodeRun,
  Host,
  HostEvent,
} from '../../types/index.ts'
import { textIn } from '../fitted-result.ts'
import { type FromProgram, type Job, type ProgramProcess, startProgram } from './process.ts'

interface RunDeps {
  tools: readonly CatalogTool[]
  call: Host['call']
  /** Reports how calls end at their servers, and questions, during which the clock stops. */
  on: Host['on']
}

const maxFileName = 100
/** Maximum tool calls of the program. */
export const defaultCalls = 200

const defaults = {
  memoryBytes: 64 * 1024 * 1024,
  cpuMs: 10_000,
  totalMs: 120_000,
  outputCharacters: 100_000,
  calls: defaultCalls,
}

type ProgramEnd = Pick<Extract<FromProgram, { type: 'end' }>, 'value' | 'error'> & Pick<CodeRun, 'outcome'>

/** Runs one program. `row` is its activity, the cause of its calls. */
export async function runProgram(
  program: string,
  row: number,
  options: CodeOptions,
  deps: RunDeps,
): Promise<Omit<CodeRun, 'activity'>> {
  const limits = { ...defaults, ...options.limits }
  const ending = Promise.withResolvers<ProgramEnd>()
  const stop = new AbortController()
  const abort = (): void => stop.abort(new McpError('CANCELLED', 'The program was ended'))
  const handles = new ContentHandles()
  const output = { logs: [] as string[], shown: [] as ContentBlock[], calls: [] as CodeCall[] }
  const watcher = new CallWatcher(row)
  const running = new Set<Promise<void>>()

  const stopWith = (end: ProgramEnd): void => {
    ending.resolve(end)
    abort()
  }
  const clock = createPausableTimeout(limits.totalMs, () =>
    stopWith({
      outcome: 'limit',
      error: `It took more than ${limits.totalMs} ms, not counting questions to the person.`,
    }),
  )
  const unsubscribe = deps.on((event) => watcher.observe(event, clock))
  const cancelled = (): void => stopWith({ outcome: 'cancelled' })
  options.signal?.addEventListener('abort', cancelled)
  if (options.signal?.aborted) cancelled()

  async function call(request: Extract<FromProgram, { type: 'call' }>): Promise<void> {
    const { id, server, tool } = request
    const entry = deps.tools.find((candidate) => candidate.server === server && candidate.tool.name === tool)
    const at = output.calls.length
    const setOutcome = (outcome: CodeCall['outcome'], activity: number | null): void => {
      output.calls[at] = { server, tool, outcome, activity }
    }
    setOutcome('unknown', null)
    const endCall = watcher.begin(server, tool)
    let answer: object
    try {
      if (entry === undefined || at >= limits.calls) throw new Error(`${tool} of ${server} cannot be called`)
      const args: unknown = readJson(request.arguments)
      const done = await deps.call(entry.name, isRecord(args) ? args : {}, {
        caller: 'code',
        cause: row,
        signal: stop.signal,
        ...(options.conversation !== undefined && { conversation: options.conversation }),
      })
      setOutcome(outcomeOf(done, watcher), done.activity)
      const visibleResult = options.conversation === undefined ? done.result : forModel(done.result)
      answer = replyFor({ ...done, result: visibleResult }, handles)
    } catch (error) {
      setOutcome('error', null)
      answer = { error: reasonWithFixes(error), denied: false }
    }
    endCall()
    process?.answer(id, JSON.stringify(answer))
  }

  const onMessage = (message: FromProgram): void => {
    if (message.type === 'end') ending.resolve(message)
    else if (message.type === 'log') output.logs.push(message.text)
    else if (message.type === 'show') {
      const block: ContentBlock | undefined =
        'text' in message ? { type: 'text', text: message.text } : handles.get(message.handle)
      if (block !== undefined) output.shown.push(block)
    } else if (!stop.signal.aborted) {
      const pendingCall = call(message).finally(() => running.delete(pendingCall))
      running.add(pendingCall)
    }
  }
  const file = oneLine(options.file || 'program.js').slice(0, maxFileName)
  const job: Job = { program, file, servers: toolNamesByServer(deps.tools), ...limits }
  let process: ProgramProcess | undefined
  try {
    process = startProgram(job, onMessage, (reason) => stopWith({ outcome: 'error', error: reason }))
    const end = await ending.promise
    if (end.outcome !== 'ok' && end.outcome !== 'error') abort()
    await process.end()
    // A call that the program did not await still has an effect.
    await Promise.all(running)
    return toCodeRun(end, output, limits.outputCharacters)
  } finally {
    clock.clear()
    unsubscribe()
    options.signal?.removeEventListener('abort', cancelled)
  }
}

function toolNamesByServer(tools: readonly CatalogTool[]): Job['servers'] {
  const servers = Map.groupBy(tools, ({ server }) => server)
  return [...servers].map(([server, own]) => [server, own.map(({ tool }) => tool.name)] as const)
}

function outcomeOf(done: BrokeredCall, watcher: CallWatcher): CodeCall['outcome'] {
  if (done.denied) return 'denied'
  if (done.error !== undefined) return watcher.hasUnknownOutcome(done.activity) ? 'unknown' : 'error'
  return done.result.isError === true ? 'failed' : 'ok'
}

/** The program's view of an outcome. Refusals and failures are errors, which it may catch. */
function replyFor({ result, denied, error }: BrokeredCall, kept: ContentHandles): object {
  const failed = denied || error !== undefined || result.isError === true
  return failed
    ? { error: textOf(result) || 'The tool failed and did not say why.', denied }
    : { result: kept.add(result) }
}

function toCodeRun(
  { outcome, error, value }: ProgramEnd,
  { calls, logs, shown }: Pick<CodeRun, 'calls' | 'logs'> & { shown: readonly ContentBlock[] },
  characters: number,
): Omit<CodeRun, 'activity'> {
  const run = { outcome, logs, calls, shown, ...(error !== undefined && { error }) }
  const isCut = value !== undefined && value.length > characters
  const returned = isCut
    ? `${value.slice(0, characters)}… [cut: ${value.length - characters} of ${value.length} characters left out]`
    : value
  return {
    ...run,
    ...(value !== undefined && !isCut && { value: readJson(value) }),
    result: reportText(run, returned, shown),
  }
}

/** Content that programs received, referred to by number. */
class ContentHandles {
  readonly #blocks: ContentBlock[] = []

  /** A result as the program sees it: texts are included, other content is a reference it can show. */
  add(result: CallToolResult): JsonRecord {
    const content = result.content.map((block) => {
      this.#blocks.push(block)
      return { ...contentFacts(block), handle: this.#blocks.length - 1 }
    })
    const text = textOf(result)
    const data = result.structuredContent ?? parsed(text)
    return { text, ...(data !== undefined && { data }), content }
  }

  get(handle: number): ContentBlock | undefined {
    return this.#blocks[handle]
  }
}

/** All text of a result. */
function textOf(result: CallToolResult): string {
  return result.content.flatMap((block) => textIn(block) ?? []).join('\n')
}

function contentFacts(block: ContentBlock): JsonRecord {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text }
    case 'image':
    case 'audio':
      return { type: block.type, mimeType: block.mimeType }
    case 'resource_link':
      return { type: block.type, uri: block.uri, name: block.name, mimeType: block.mimeType }
    case 'resource': {
      const { uri, mimeType } = block.resource
      return {
        type: block.type,
        uri,
        mimeType,
        ...('text' in block.resource && { text: block.resource.text }),
      }
    }
  }
}

const maxListedCalls = 60

const outcomeTexts: Readonly<Record<CodeCall['outcome'], string>> = {
  ok: 'done',
  failed: 'the tool failed',
  denied: 'denied',
  error: 'no result',
  unknown: 'no answer came; it may have had its effect',
}

/** A run as text for a model; a failed one lists every call that was made before. */
function reportText(
  run: Pick<CodeRun, 'outcome' | 'error' | 'logs' | 'calls'>,
  returned: string | undefined,
  shown: readonly ContentBlock[],
): CallToolResult {
  const parts: string[] = []
  if (run.outcome !== 'ok') {
    parts.push(
      `The program ${endingTexts[run.outcome]}${run.error === undefined ? '.' : `: ${run.error}`}`,
      madeCallsText(run.calls),
    )
  }
  if (returned !== undefined) parts.push(`Returned:\n${returned}`)
  if (run.logs.length > 0) parts.push(`Logged:\n${run.logs.join('\n')}`)
  if (parts.length === 0 && shown.length === 0) {
    parts.push(`The program ended without returning or showing anything, after ${count(run.calls.length)}.`)
  }
  return {
    content: [...(parts.length === 0 ? [] : [{ type: 'text' as const, text: parts.join('\n\n') }]), ...shown],
    ...(run.outcome !== 'ok' && { isError: true }),
  }
}

const endingTexts: Readonly<Record<Exclude<CodeRun['outcome'], 'ok'>, string>> = {
  error: 'failed',
  limit: 'was ended',
  cancelled: 'was cancelled',
}

function madeCallsText(calls: readonly CodeCall[]): string {
  if (calls.length === 0) return 'It had made no calls.'
  const lines = calls
    .slice(0, maxListedCalls)
    .map(
      ({ server, tool, outcome }, at) =>
        `${at + 1}. ${oneLine(tool)} of ${oneLine(server)}: ${outcomeTexts[outcome]}`,
    )
  const more = calls.length > maxListedCalls ? [`… and ${calls.length - maxListedCalls} more`] : []
  return [`It had made ${count(calls.length)}; what is done stays done:`, ...lines, ...more].join('\n')
}

function count(calls: number): string {
  return calls === 1 ? '1 call' : `${calls} calls`
}

/** How calls ended at servers that reported it. */
const reportedOutcomes: ReadonlySet<string> = new Set(['ok', 'error', 'changed'])

/** Host events about the calls of one program while it runs. */
class CallWatcher {
  readonly #row: number
  readonly #unknownOutcomes = new Set<number>()
  readonly #runningCalls = new Map<string, number>()
  readonly #openQuestions = new Map<string, () => void>()

  /** `row`: the program's activity. */
  constructor(row: number) {
    this.#row = row
  }

  /** Registers a call; the returned function marks it as ended. */
  begin(server: string, tool: string): () => void {
    const key = keyOf(server, tool)
    this.#runningCalls.set(key, (this.#runningCalls.get(key) ?? 0) + 1)
    return () => {
      const remaining = (this.#runningCalls.get(key) ?? 1) - 1
      if (remaining > 0) this.#runningCalls.set(key, remaining)
      else this.#runningCalls.delete(key)
    }
  }

  /** Whether the call of this activity was sent to its server with unknown outcome. */
  hasUnknownOutcome(activity: number): boolean {
    return this.#unknownOutcomes.has(activity)
  }

  /** The program's time limit is paused while the user is asked about one of its calls. */
  observe(event: HostEvent, clock: PausableTimeout): void {
    if (event.type === 'call' && event.state === 'ends' && event.call.cause === this.#row) {
      if (!reportedOutcomes.has(event.outcome)) this.#unknownOutcomes.add(event.call.activity)
    }
    if (event.type !== 'question') return
    const { id, state, question } = event.item
    if (state !== 'open') {
      this.#openQuestions.get(id)?.()
      this.#openQuestions.delete(id)
      return
    }
    const { server, tool, caller } = question.cause
    if (caller !== 'code' || tool === undefined || !this.#runningCalls.has(keyOf(server, tool))) return
    if (!this.#openQuestions.has(id)) this.#openQuestions.set(id, clock.pause())
  }
}

function keyOf(server: string, tool: string): string {
  return JSON.stringify([server, tool])
}

/** A time limit that can be paused. */
interface PausableTimeout {
  /** Pauses it; the returned function resumes it, once every pause has ended. */
  pause(): () => void
  /** Stops it. */
  clear(): void
}

/** Calls `out` after `ms`, without paused time. */
function createPausableTimeout(ms: number, onTimeout: () => void): PausableTimeout {
  let remaining = ms
  let startedAt = performance.now()
  let pauses = 0
  let timer: NodeJS.Timeout | undefined = setTimeout(onTimeout, remaining)
  return {
    pause() {
      pauses += 1
      if (pauses === 1 && timer !== undefined) {
        clearTimeout(timer)
        remaining -= performance.now() - startedAt
      }
      let hasResumed = false
      return () => {
        if (hasResumed) return
        hasResumed = true
        pauses -= 1
        if (pauses > 0 || timer === undefined) return
        startedAt = performance.now()
        timer = setTimeout(onTimeout, Math.max(0, remaining))
      }
    },
    clear() {
      clearTimeout(timer)
      timer = undefined
    },
  }
}
