import { type ContentBlock, McpError } from '@jackfield/sdk'
import { readJson } from '@jackfield/sdk/internal'
import { forModel } from '../audience.ts'
import { isRecord } from '../json.ts'
import { reasonOf } from '../text.ts'
import type { BrokeredCall, CatalogTool, CodeCall, CodeOptions, CodeRun, Host } from '../types/index.ts'
import { createClock } from './clock.ts'
import { KeptContent, textOf } from './content.ts'
import type { FromProgram, Job } from './messages.ts'
import { type ProgramProcess, startProgram } from './process.ts'
import { report } from './report.ts'
import { Watched } from './watched.ts'

export interface RunDeps {
  tools: readonly CatalogTool[]
  call: Host['call']
  /** Tells how calls end at their servers, and of questions, by which the clock stops. */
  on: Host['on']
}

/** Tool calls that a program may make. */
export const defaultCalls = 200

const defaults = {
  memoryBytes: 64 * 1024 * 1024,
  cpuMs: 10_000,
  totalMs: 120_000,
  outputCharacters: 100_000,
  calls: defaultCalls,
}

type Ended = Pick<Extract<FromProgram, { type: 'end' }>, 'value' | 'error'> & Pick<CodeRun, 'outcome'>

/** Runs one program to its end. `row` is its activity, the cause of its calls. */
export async function runProgram(
  program: string,
  row: number,
  options: CodeOptions,
  deps: RunDeps,
): Promise<Omit<CodeRun, 'activity'>> {
  const limits = { ...defaults, ...options.limits }
  const ending = Promise.withResolvers<Ended>()
  const stop = new AbortController()
  const abort = (): void => stop.abort(new McpError('CANCELLED', 'The program was ended'))
  const kept = new KeptContent()
  const told = { logs: [] as string[], shown: [] as ContentBlock[], calls: [] as CodeCall[] }
  const watched = new Watched(row)
  const running = new Set<Promise<void>>()

  const giveUp = (ended: Ended): void => {
    ending.resolve(ended)
    abort()
  }
  const clock = createClock(limits.totalMs, () =>
    giveUp({
      outcome: 'limit',
      error: `It took more than ${limits.totalMs} ms, not counting questions to the person.`,
    }),
  )
  const off = deps.on((event) => watched.hear(event, clock))
  const cancelled = (): void => giveUp({ outcome: 'cancelled' })
  options.signal?.addEventListener('abort', cancelled)
  if (options.signal?.aborted) cancelled()

  async function call(wanted: Extract<FromProgram, { type: 'call' }>): Promise<void> {
    const { id, server, tool } = wanted
    const entry = deps.tools.find((candidate) => candidate.server === server && candidate.tool.name === tool)
    const at = told.calls.length
    const note = (outcome: CodeCall['outcome'], activity: number | null): void => {
      told.calls[at] = { server, tool, outcome, activity }
    }
    note('unknown', null)
    const over = watched.begin(server, tool)
    let answer: object
    try {
      if (entry === undefined || at >= limits.calls) throw new Error(`${tool} of ${server} cannot be called`)
      const args: unknown = readJson(wanted.arguments)
      const done = await deps.call(entry.name, isRecord(args) ? args : {}, {
        caller: 'code',
        cause: row,
        signal: stop.signal,
        ...(options.conversation !== undefined && { conversation: options.conversation }),
      })
      note(outcomeOf(done, watched), done.activity)
      const seen = options.conversation === undefined ? done.result : forModel(done.result)
      answer = answerTo({ ...done, result: seen }, kept)
    } catch (error) {
      note('error', null)
      answer = { error: reasonOf(error), denied: false }
    }
    over()
    process?.answer(id, JSON.stringify(answer))
  }

  const hear = (message: FromProgram): void => {
    if (message.type === 'end') ending.resolve(message)
    else if (message.type === 'log') told.logs.push(message.text)
    else if (message.type === 'show') {
      const block: ContentBlock | undefined =
        'text' in message ? { type: 'text', text: message.text } : kept.get(message.handle)
      if (block !== undefined) told.shown.push(block)
    } else if (!stop.signal.aborted) {
      const going = call(message).finally(() => running.delete(going))
      running.add(going)
    }
  }
  const job: Job = { program, servers: names(deps.tools), ...limits }
  let process: ProgramProcess | undefined
  try {
    process = startProgram(job, hear, (why) => giveUp({ outcome: 'error', error: why }))
    const ended = await ending.promise
    if (ended.outcome !== 'ok' && ended.outcome !== 'error') abort()
    await process.end()
    // A call that the program did not wait for is an effect all the same.
    await Promise.all(running)
    return conclude(ended, told, limits.outputCharacters)
  } finally {
    clock.clear()
    off()
    options.signal?.removeEventListener('abort', cancelled)
  }
}

function names(tools: readonly CatalogTool[]): Job['servers'] {
  const servers = Map.groupBy(tools, ({ server }) => server)
  return [...servers].map(([server, own]) => [server, own.map(({ tool }) => tool.name)] as const)
}

function outcomeOf(done: BrokeredCall, watched: Watched): CodeCall['outcome'] {
  if (done.denied) return 'denied'
  if (done.error !== undefined) return watched.isUnsure(done.activity) ? 'unknown' : 'error'
  return done.result.isError === true ? 'failed' : 'ok'
}

/** What the program is told. A refusal and a failure are errors there, which it may catch. */
function answerTo({ result, denied, error }: BrokeredCall, kept: KeptContent): object {
  const failed = denied || error !== undefined || result.isError === true
  return failed
    ? { error: textOf(result) || 'The tool failed and did not say why.', denied }
    : { result: kept.add(result) }
}

function conclude(
  { outcome, error, value }: Ended,
  { calls, logs, shown }: Pick<CodeRun, 'calls' | 'logs'> & { shown: readonly ContentBlock[] },
  characters: number,
): Omit<CodeRun, 'activity'> {
  const run = { outcome, logs, calls, shown, ...(error !== undefined && { error }) }
  const cut = value !== undefined && value.length > characters
  const returned = cut
    ? `${value.slice(0, characters)}… [cut: ${value.length - characters} of ${value.length} characters left out]`
    : value
  return {
    ...run,
    ...(value !== undefined && !cut && { value: readJson(value) }),
    result: report(run, returned, shown),
  }
}
