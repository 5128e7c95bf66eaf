import type { ExtensionCall } from '../../../client/extension.ts'
import { limits } from '../../../core/limits.ts'
import { McpError, RpcError } from '../../../jsonrpc/error.ts'
import type { JsonObject } from '../../../jsonrpc/message.ts'
import { isObject } from '../../../jsonrpc/parse.ts'
import { wait } from '../../../links/pace.ts'
import { errorIn, protocol, stateIn, type TaskState } from './state.ts'

/** How a task ended. */
export type Ending = { readonly result: JsonObject } | { readonly error: Error }

/** Follows a task to its end, answering its questions on the way. Rejects when this side cannot go on. */
export type Follow = (first: TaskState | string, call: ExtensionCall) => Promise<Ending>

const defaultPollMs = 1_000
const shortestPollMs = 50
const longestPollMs = 3_600_000
const aliveMs = 5_000
const longestBackOffMs = 30_000
const maxFailures = 8

/** Follows a task of the extension: looks at it, answers what is new in it, and looks again. */
export const followExtension: Follow = async (first, call) => {
  const looking = new Looking(first, call)
  const answers = new Answered()
  let { state } = looking
  for (;;) {
    if (state !== undefined) await answers.give(state, call)
    if (state !== undefined) await looking.pause()
    const task = await looking.look()
    state = looking.state
    switch (state?.status) {
      case 'completed':
        return isObject(task['result'])
          ? { result: withoutType(task['result']) }
          : { error: protocol(`the task ${state.taskId} completed without a result`) }
      case 'failed':
        return { error: errorIn(task, state) }
      case 'cancelled':
        return { error: wasCancelled(state) }
    }
  }
}

/** Follows a task of 2025-11-25. Its result is waited for only where the server has to ask something on the way. */
export const followExperimental: Follow = async (first, call) => {
  const looking = new Looking(first, call)
  try {
    return await untilOver(looking, call)
  } finally {
    looking.stop()
  }
}

async function untilOver(looking: Looking, call: ExtensionCall): Promise<Ending> {
  let waiting: Promise<Ending | undefined> | undefined
  for (;;) {
    if (looking.state !== undefined) {
      const pause = looking.pause()
      const ending = waiting && (await Promise.race([waiting, pause]))
      if (ending !== undefined) return ending
      await pause
    }
    await looking.look()
    const { state } = looking
    switch (state?.status) {
      case 'cancelled':
        return { error: wasCancelled(state) }
      case 'completed':
      case 'failed': {
        const ending = (await waiting) ?? (await resultOf(state.taskId, call))
        if (ending !== undefined) return ending
        waiting = undefined
        break
      }
      case 'input_required':
        waiting ??= resultOf(state.taskId, call).finally(() => {
          waiting = undefined
        })
        waiting.catch(() => {})
    }
  }
}

/** The result of a task, once it is there; undefined when the connection broke before it was. */
async function resultOf(taskId: string, call: ExtensionCall): Promise<Ending | undefined> {
  try {
    return { result: withoutType(await call.request('tasks/result', { taskId })) }
  } catch (error) {
    if (error instanceof RpcError) return { error }
    if (mayPass(error) && !call.signal.aborted) return undefined
    throw error
  }
}

/** Looks at one task at the server's pace, and less often while that fails. */
class Looking {
  state: TaskState | undefined
  readonly #id: string
  readonly #call: ExtensionCall
  readonly #stop = new AbortController()
  readonly #signal: AbortSignal
  #failures = 0

  constructor(first: TaskState | string, call: ExtensionCall) {
    this.state = typeof first === 'string' ? undefined : first
    this.#id = typeof first === 'string' ? first : first.taskId
    this.#call = call
    this.#signal = AbortSignal.any([call.signal, this.#stop.signal])
  }

  /** Ends a pause that nobody waits for any more. */
  stop(): void {
    this.#stop.abort()
  }

  /** Waits until it is time to look again. That nothing comes meanwhile is what was agreed. */
  async pause(): Promise<undefined> {
    const { pollIntervalMs = defaultPollMs } = this.state ?? {}
    const wanted = Math.min(longestPollMs, Math.max(shortestPollMs, pollIntervalMs))
    const failing = Math.min(longestBackOffMs, wanted * 2 ** this.#failures)
    let left = this.#failures === 0 ? wanted : Math.max(wanted, failing)
    while (left > 0) {
      const slice = Math.min(left, aliveMs)
      await wait(slice, this.#signal)
      this.#call.touch()
      left -= slice
    }
    return undefined
  }

  /** The task as it is now; an empty object when the look failed in a way that may pass. */
  async look(): Promise<JsonObject> {
    const taskId = this.#id
    try {
      const task = await this.#call.request('tasks/get', { taskId }, this.#call.onProgress ?? false)
      this.state = stateIn(task)
      if (this.state.taskId !== taskId) throw protocol('it gave another task than the one asked for')
      this.#failures = 0
      this.#call.touch()
      return task
    } catch (error) {
      if (!mayPass(error) || this.#call.signal.aborted || ++this.#failures > maxFailures) throw error
      this.state ??= { taskId, status: 'working', createdAt: '', lastUpdatedAt: '', ttlMs: null }
      this.state = { ...this.state, status: 'working' }
      return {}
    }
  }
}

/** Answers each question of a task once, however often it is shown, and asks no more often than any server may. */
class Answered {
  readonly #keys = new Set<string>()
  #rounds = 0
  #undelivered: JsonObject = {}

  async give({ taskId, status, inputRequests = {} }: TaskState, call: ExtensionCall): Promise<void> {
    if (status !== 'input_required') return
    const fresh = Object.entries(inputRequests).filter(([key]) => !this.#keys.has(key))
    if (fresh.length > 0) {
      if (++this.#rounds > limits.questions) {
        throw new McpError(
          'TOO_MANY_ROUNDS',
          `The task ${taskId} asked back more than ${limits.questions} times`,
        )
      }
      const answers = await call.answer(Object.fromEntries(fresh))
      for (const [key] of fresh) this.#keys.add(key)
      this.#undelivered = { ...this.#undelivered, ...answers }
    }
    if (Object.keys(this.#undelivered).length === 0) return
    try {
      await call.request('tasks/update', { taskId, inputResponses: this.#undelivered })
      this.#undelivered = {}
    } catch (error) {
      if (!mayPass(error) || call.signal.aborted) throw error
    }
  }
}

/** Whether a failure is one of the connection, so that trying again may help. */
export function mayPass(error: unknown): boolean {
  if (!(error instanceof McpError)) return false
  if (error.code === 'CONNECTION_CLOSED' || error.code === 'OUTCOME_UNKNOWN') return true
  const { status } = error.details
  return error.code === 'HTTP' && typeof status === 'number' && status >= 500
}

function wasCancelled({ taskId, statusMessage }: TaskState): McpError {
  const why = statusMessage === undefined ? '' : `: ${statusMessage}`
  return new McpError('CANCELLED', `The task was cancelled${why}`, { details: { taskId } })
}

function withoutType({ resultType: _type, ...result }: JsonObject): JsonObject {
  return result
}
