import { type CallToolResult, ErrorCode, McpError, RpcError } from '@jackfield/sdk'
import type { AnswerOptions, ProgressReport, Round } from '@jackfield/sdk/client'
import type { Recorder } from '../log/store/activity-log.ts'
import type { InboxRow, SuspendedCall } from '../log/store/inbox-tables.ts'
import type { Store } from '../log/store/store.ts'
import type { ServerConnection } from '../servers/connections/connection.ts'
import { FixableError, failureFrom } from '../shared/failures.ts'
import { oneLine, reasonOf } from '../shared/text.ts'
import type { BrokeredCall, CallNotice, Failure, HostEvent } from '../types/index.ts'
import type { ActiveRequests } from './active-requests.ts'
import { failure } from './call-results.ts'
import { rememberedAnswers } from './forms/remembered.ts'
import type { SuspendedCalls } from './suspended-calls.ts'
import type { SuspendedSecrets } from './suspended-secrets.ts'

type ReleasedResult = Pick<BrokeredCall, 'result' | 'release'>

export interface ResumeDeps {
  store: Pick<Store, 'inbox' | 'suspendedCalls' | 'owners' | 'forms'>
  suspendedCalls: SuspendedCalls
  suspendedSecrets: SuspendedSecrets
  /** The server with this name, if the host has it and it is enabled. */
  connection(server: string): ServerConnection | undefined
  /** The handlers for questions of that server's suspended calls. */
  answers(server: string): AnswerOptions
  activeRequests: ActiveRequests
  recorder: Recorder
  callTimeoutMs: number
  emit(event: HostEvent): void
  /** Why a tool is disabled; undefined if it is enabled. */
  disabledReason(server: string, tool: string): string | undefined
  /**
   * Why a call may not be repeated; undefined if it is idempotent or the user agrees. `row` is that of the call; `onAsking` is called
   * before the user is asked.
   */
  refusalToRepeat(
    call: SuspendedCall['request'],
    row: number,
    signal: AbortSignal,
    onAsking: () => void,
  ): Promise<string | undefined>
  /** Reuses the answers of a round for equal questions. */
  reuseAnswers(call: number, round: number): void
  /** Applies policy to the result; `row` is that of the call. */
  releaseResult(
    call: SuspendedCall['request'],
    result: CallToolResult,
    row: number,
    signal: AbortSignal,
  ): Promise<ReleasedResult>
  /** Aborted when the host closes. */
  signal: AbortSignal
}

interface CallResumption {
  /** Why this host cannot resume a call; undefined if it can. */
  refusal(call: SuspendedCall): string | undefined
  /** Connects, sends the answers and finishes. The call was approved when it was made and needs no new approval. */
  run(call: SuspendedCall): Promise<BrokeredCall>
}

export function createCallResumption(deps: ResumeDeps): CallResumption {
  return {
    refusal: ({ request, identity }) => {
      const connection = deps.connection(request.server)
      const server = oneLine(request.server)
      if (connection === undefined) {
        return `The question came from ${server}, which is not configured here. Answer it where ${server} is configured.`
      }
      if (connection.identity !== identity) {
        return differentServer(server)
      }
      const disabledReason = deps.disabledReason(request.server, request.tool)
      return disabledReason === undefined
        ? undefined
        : `${oneLine(request.tool)} of ${server} is disabled: ${disabledReason}`
    },
    run: (call) => run(call, deps),
  }
}

async function run(suspension: SuspendedCall, deps: ResumeDeps): Promise<BrokeredCall> {
  const { suspendedCalls, owners } = deps.store
  const { call, request } = suspension
  owners.lock()
  if (!suspendedCalls.claim(call, owners.me)) {
    throw new McpError('CONFLICT', `Another program has resumed the call of ${oneLine(request.tool)} already`)
  }
  if (request.holes === undefined) return continueCall(suspension, deps)
  const restored = await deps.suspendedSecrets.restore(suspension).catch((error: unknown) => {
    suspendedCalls.release(call, owners.me)
    throw error
  })
  return continueCall(restored, deps)
}

/** Continues a call that this program has claimed. */
async function continueCall(suspended: SuspendedCall, deps: ResumeDeps): Promise<BrokeredCall> {
  const { store, recorder, activeRequests, emit, signal } = deps
  const { call, request, round, asked } = suspended
  const { server, tool, arguments: args, caller, decision } = request
  const { me } = store.owners
  const cause = store.suspendedCalls.approvalOf(call)
  const within = request.conversation === undefined ? {} : { conversation: request.conversation }
  const row = recorder.open({
    kind: 'call',
    server,
    cause,
    summary: `${tool} of ${server}, resumed`,
    detail: { tool, arguments: args, caller, decision, takesUp: call, round, ...within },
  })
  const suspension = deps.suspendedCalls.begin({ call, identity: suspended.identity, request }, true)
  const endRequest = activeRequests.begin({
    server,
    row: row.id,
    method: 'tools/call',
    target: tool,
    arguments: args,
    caller,
    ...within,
  })
  const notice: CallNotice = { activity: row.id, server, tool, caller, cause, ...within }
  emit({ type: 'call', state: 'begins', call: notice })
  const finish = (
    outcome: string,
    result: BrokeredCall['result'],
    error?: Failure,
    passed: ReleasedResult = { result },
  ): BrokeredCall => {
    emit({ type: 'call', state: 'ends', call: notice, outcome })
    row.close(outcome, { result, ...(error !== undefined && { error }) })
    return { ...passed, denied: false, decision, activity: row.id, ...(error !== undefined && { error }) }
  }
  let requestError: unknown
  let repeatRefusal: string | undefined
  try {
    const connection = deps.connection(server)
    if (connection === undefined) throw new McpError('INVALID', `${server} is not configured here`)
    const client = await connection.ready(signal)
    if (connection.identity !== suspended.identity) throw new McpError('INVALID', differentServer(server))
    const disabledReason = deps.disabledReason(server, tool)
    if (disabledReason !== undefined)
      throw new FixableError('INVALID', `${oneLine(tool)} is disabled: ${disabledReason}`, [
        { action: 'review', server },
      ])
    const options = {
      signal,
      timeoutMs: deps.callTimeoutMs,
      onRound: (next: Round) => suspension.save(next),
      onAnswered: () => suspension.sending(),
      onProgress: (report: ProgressReport) =>
        emit({ type: 'progress', server, tool, activity: row.id, ...report }),
    }
    const resume = { ...asked, answers: deps.answers(server) }
    const result = await client.call(tool, args, { ...options, resume }).catch(async (error: unknown) => {
      if (!isRefusal(error, store.suspendedCalls.get(call), suspended)) throw error
      const rows = store.inbox.ofRound(call, round)
      rememberAnswers(rows, rememberedAnswers(suspended.identity, store.forms))
      const message = `${oneLine(server)} no longer accepts the answer to ${oneLine(tool)}: ${rejectionReason(error)}. The call has to be made again; the entered values are kept for it.`
      let isAnnounced = false
      const announce = (): void => {
        if (!isAnnounced) emit({ type: 'warning', server, message })
        isAnnounced = true
      }
      repeatRefusal = await deps.refusalToRepeat(request, row.id, signal, announce)
      if (repeatRefusal !== undefined) throw error
      announce()
      deps.reuseAnswers(call, round)
      return await client.call(tool, args, options)
    })
    suspension.end()
    const passed = await deps.releaseResult(request, result, row.id, signal)
    return finish(result.isError ? 'error' : 'ok', result, undefined, passed)
  } catch (error) {
    requestError = error
    const described = describeFailure(error, store.suspendedCalls.get(call), suspended, repeatRefusal)
    if (described.lostReason !== undefined) store.inbox.markLost(call, round, described.lostReason)
    if (described.isResumable) store.suspendedCalls.release(call, me)
    const isSuspended = suspension.end() && signal.aborted
    const done = finish(
      isSuspended ? 'suspended' : described.outcome,
      failure(described.text),
      described.error,
    )
    return isSuspended ? { ...done, suspended: true } : done
  } finally {
    endRequest(requestError)
  }
}

function differentServer(server: string): string {
  return `${oneLine(server)} is not the server that asked: its command or address changed. Restore that configuration to answer it, or make the call again.`
}

interface ResumptionFailure {
  outcome: string
  text: string
  error: Failure
  /** Whether the call can be resumed again. */
  isResumable: boolean
  /** Why the answers of the round are lost. */
  lostReason?: string
}

/** Whether the server rejected the `requestState` of the round, for example after a restart: the answers then had no effect. */
function isRefusal(error: unknown, current: SuspendedCall | undefined, previous: SuspendedCall): boolean {
  return (
    error instanceof RpcError &&
    error.code === ErrorCode.InvalidParams &&
    current?.sent === true &&
    current.round === previous.round
  )
}

/** The server's reason for rejecting an answer, unless it is about `requestState`, which a user does not know. */
function rejectionReason(error: unknown): string {
  return error instanceof RpcError && !/requestState/i.test(error.message)
    ? oneLine(error.message).replace(/\.+$/, '')
    : 'it was restarted since it asked, or the answer came too late'
}

/** Stores the user's input as initial values for a repeated call. */
function rememberAnswers(rows: readonly InboxRow[], remembered: ReturnType<typeof rememberedAnswers>): void {
  for (const { question, answer } of rows) {
    const value = answer?.value
    if (question.kind !== 'elicitation' || question.params.mode === 'url') continue
    if (value === undefined || !('content' in value) || value.content === undefined) continue
    try {
      remembered.remember(question.params, value.content, Object.keys(value.content))
    } catch (error) {
      process.emitWarning(`The answers of a form could not be kept: ${reasonOf(error)}`)
    }
  }
}

/** Describes why a call could not be resumed. `repeatRefusal`: why it was not made again. */
function describeFailure(
  error: unknown,
  current: SuspendedCall | undefined,
  previous: SuspendedCall,
  repeatRefusal?: string,
): ResumptionFailure {
  const { tool, server } = previous.request
  const reason = reasonOf(error)
  const failure = failureFrom(error) ?? { code: 'PROTOCOL' as const, message: reason }
  if (current !== undefined && !current.sent) {
    const text = `${tool} of ${server} could not be resumed: ${reason}. The answer is kept; try again.`
    return { outcome: 'error', text, error: failure, isResumable: true }
  }
  if (error instanceof RpcError) {
    if (
      error.code !== ErrorCode.InvalidParams ||
      (current !== undefined && current.round !== previous.round)
    ) {
      const text = `The call of ${tool} of ${server} ended with an error: ${reason}`
      return { outcome: 'error', text, error: failure, isResumable: false }
    }
    const notRepeatedSentence =
      repeatRefusal === undefined ? '' : ` The call was not made again automatically: ${repeatRefusal}.`
    const message = `${server} no longer accepts the answer: ${rejectionReason(error)}.${notRepeatedSentence} Call ${tool} again; the values you entered are filled in.`
    const shown = { ...failure, message }
    return {
      outcome: 'expired',
      text: message,
      error: shown,
      isResumable: false,
      lostReason: `the server refused it: ${reason}`,
    }
  }
  const text = `The call of ${tool} of ${server} was resumed, but its outcome is unknown: ${reason}`
  return { outcome: 'unknown', text, error: failure, isResumable: false }
}
