import type { CallToolResult } from '@jackfield/sdk'
import type { AskContext, Client } from '@jackfield/sdk/client'
import { compileSchema, type Validator } from '@jackfield/sdk/schema'
import { isVisibleTo } from '../apps/tool-app.ts'
import type { SuspendedCall } from '../log/store/inbox-tables.ts'
import type { Catalog } from '../servers/catalog.ts'
import type { ServerConnection } from '../servers/connections/connection.ts'
import { fixText, reasonWithFixes } from '../shared/failures.ts'
import type { JsonRecord } from '../shared/json.ts'
import { reasonOf } from '../shared/text.ts'
import type {
  BrokeredCall,
  Caller,
  CallNotice,
  CatalogTool,
  Decision,
  Failure,
  HostCallOptions,
  HostEvent,
} from '../types/index.ts'
import type { ActiveRequests } from './active-requests.ts'
import { type ApprovalDeps, type ApprovalRequest, decideRelease, requestApproval } from './approval.ts'
import {
  type CallFailure,
  denial,
  detachedTask,
  failedCall,
  failure,
  failureOf,
  invalidArguments,
  isTransportError,
  suspendedCall,
  withheldResult,
} from './call-results.ts'
import { frozenArguments, subjectOf } from './policy/grants.ts'
import { serverOrigin, toolDefinition } from './policy/identity.ts'
import type { PolicySubject, Ruling } from './policy/policy.ts'
import type { SuspendedCalls } from './suspended-calls.ts'
import { TaskDetached, type Tasks } from './tasks.ts'

/** Maximum retries of one call after URL elicitations. */
const maxUrlRetries = 5

interface BrokerDeps extends ApprovalDeps {
  catalog: Catalog
  activeRequests: ActiveRequests
  suspendedCalls: SuspendedCalls
  tasks: Tasks
  callTimeoutMs: number
  emit: (event: HostEvent) => void
  /** Why a tool is disabled, regardless of policy; undefined if it is enabled. */
  disabledReason?: ((server: string, tool: string) => string | undefined) | undefined
  /** Asks for the URL elicitations that a failed call requires; true if it can be retried. */
  openRequiredUrls?: ((server: string, error: unknown, context: AskContext) => Promise<boolean>) | undefined
}

type BrokerOptions = HostCallOptions & Required<Pick<HostCallOptions, 'typed' | 'signal'>>

type ResultFields = Partial<
  Pick<BrokeredCall, 'denied' | 'edited' | 'error' | 'suspended' | 'answeredBy' | 'release'> & {
    toolResult: CallToolResult
  }
>

/** How a call ended without being sent. */
interface UnsentCall {
  outcome: string
  result: CallToolResult
  fields?: ResultFields
}

/** The result as released to a caller. */
type ReleasedResult = Pick<BrokeredCall, 'result' | 'release'>

/** A call that another program started, or an earlier run of this one. */
type ResumedCall = Pick<SuspendedCall['request'], 'server' | 'tool' | 'arguments' | 'caller' | 'conversation'>

/** Runs every tool call: policy, a question if policy requires it, the call, and its activity row. */
export class Broker {
  readonly #deps: BrokerDeps

  constructor(deps: BrokerDeps) {
    this.#deps = deps
  }

  /**
   * Calls a tool. A refusal or a failure is a result.
   * @throws McpError 'NOT_FOUND' for an unknown name, 'INVALID' for arguments that are not a JSON object
   */
  async call(name: string, input: JsonRecord, options: BrokerOptions): Promise<BrokeredCall> {
    const { catalog, policy, recorder } = this.#deps
    const { entry, connection } = catalog.tool(name)
    const args = frozenArguments(input)
    const { caller, conversation, typed, signal } = options
    const subject = subjectOf(entry, connection, args, options)
    const disabled = this.#disabledRuling(entry) ?? appOnlyRuling(entry, caller)
    const ruling = disabled ?? policy.decide(subject, typed)
    const { decision } = ruling
    const cause = options.cause ?? null
    const row = await recorder.openSoon({
      kind: 'call',
      server: entry.server,
      cause,
      summary: `${entry.tool.name} of ${entry.server}`,
      detail: {
        tool: entry.tool.name,
        arguments: args,
        caller,
        decision,
        annotations: entry.tool.annotations ?? {},
        labels: ruling.labels,
        base: subject.base ?? null,
        ...(conversation !== undefined && { conversation }),
      },
    })
    options.onRow?.(row.id)
    const finish = async (
      outcome: string,
      result: CallToolResult,
      fields: ResultFields = {},
    ): Promise<BrokeredCall> => {
      const { denied = false, toolResult: recorded = result, ...details } = fields
      const { edited, ...rest } = details
      await row.closeSoon(outcome, {
        result: recorded,
        ...rest,
        ...(edited !== undefined && { sent: edited }),
      })
      return { result, denied, decision, activity: row.id, ...details }
    }

    // A program outside of a conversation was written by the user, who reads its error.
    const isForModel =
      caller !== 'cli' && caller !== 'person' && !(caller === 'code' && conversation === undefined)
    if (decision.verdict === 'deny') {
      const reason = disabled?.reason ?? refusalReason(decision)
      return finish('denied', denial(entry, reason, isForModel), { denied: true })
    }
    const isAsked = decision.verdict === 'ask'
    const approved = isAsked
      ? await this.#approve({ entry, subject, ruling, connection, row: row.id }, isForModel, options)
      : { arguments: args, edited: false }
    if ('outcome' in approved) return finish(approved.outcome, approved.result, approved.fields)
    const sent = { ...subject, arguments: approved.arguments }
    const notice: CallNotice = {
      activity: row.id,
      server: entry.server,
      tool: entry.tool.name,
      caller,
      ...(conversation !== undefined && { conversation }),
      cause,
    }
    const { outcome, result, error } = await this.#send(
      entry,
      sent,
      connection,
      notice,
      decision,
      isAsked,
      options,
    )
    const details = {
      ...(approved.edited && { edited: sent.arguments }),
      ...(error !== undefined && { error }),
      ...(outcome === 'suspended' && { suspended: true }),
    }
    if (outcome !== 'ok' && (outcome !== 'error' || error !== undefined))
      return finish(outcome, result, details)
    const passed = await this.#release(entry, sent, result, row.id, typed, signal)
    return finish(outcome, passed.result, {
      ...details,
      ...(passed.release !== undefined && { toolResult: result, release: passed.release }),
    })
  }

  /** Asks the user about a call. Returns the arguments to send, or how the call ends without being sent. */
  async #approve(
    {
      entry,
      subject,
      ruling,
      connection,
      row,
    }: Omit<ApprovalRequest, 'origin'> & { connection: ServerConnection },
    isForModel: boolean,
    { typed, signal }: BrokerOptions,
  ): Promise<{ arguments: JsonRecord; edited: boolean } | UnsentCall> {
    const { policy } = this.#deps
    const { rules } = policy
    const denied = (outcome: string, reason: string): UnsentCall => ({
      outcome,
      result: denial(entry, reason, isForModel),
      fields: { denied: true },
    })
    const problem = problemWithArguments(entry, subject.arguments)
    if (problem !== undefined) return { outcome: 'error', result: invalidArguments(entry, problem) }
    const request = { entry, subject, ruling, origin: serverOrigin(connection.config), row }
    const answer = await requestApproval(request, this.#deps, signal)
    if (!answer.allowed) {
      const { outcome, reason } = answer
      if (outcome !== 'cancelled') return denied(outcome, reason)
      const error: Failure = { code: 'CANCELLED', message: reason }
      return { outcome, result: failure(`${entry.tool.name} was not called: ${reason}.`), fields: { error } }
    }
    if ('result' in answer)
      return { outcome: 'answered', result: answer.result, fields: { answeredBy: answer.by } }
    // The rules may have changed while the question was open, and may forbid the edited call.
    if (policy.rules === rules && !answer.edited) return answer
    const { decision } = policy.decide({ ...subject, arguments: answer.arguments }, typed)
    return decision.verdict === 'deny' ? denied('denied', refusalReason(decision)) : answer
  }

  /** Releases or withholds the result of a resumed call, as policy decides; `row` is that of the call. */
  releaseResult(
    { server, tool, ...call }: ResumedCall,
    result: CallToolResult,
    row: number,
    signal: AbortSignal,
  ): Promise<ReleasedResult> {
    const { catalog } = this.#deps
    const unknown: CatalogTool = { name: tool, server, tool: { name: tool, inputSchema: { type: 'object' } } }
    const entry = this.#find(server, tool) ?? unknown
    const subject = subjectOf(entry, catalog.server(server), call.arguments, call)
    return this.#release(entry, subject, result, row, false, signal)
  }

  /**
   * Why a call that its server no longer continues may not be repeated; undefined if it may: policy does not forbid it, and its
   * tool is idempotent or the user agrees.
   */
  async refusalToRepeat(
    { server, tool, ...call }: ResumedCall,
    row: number,
    signal: AbortSignal,
    onAsking: () => void,
  ): Promise<string | undefined> {
    const { catalog, policy, questions } = this.#deps
    const entry = this.#find(server, tool)
    if (entry === undefined) return `${server} has no tool ${tool} any more`
    const connection = catalog.server(server)
    const subject = subjectOf(entry, connection, call.arguments, call)
    const ruling = policy.decide(subject)
    if (ruling.decision.verdict === 'deny') return refusalReason(ruling.decision)
    const { readOnlyHint, idempotentHint, destructiveHint } = entry.tool.annotations ?? {}
    // Without the hint a tool counts as destructive, as the specification defines.
    if (readOnlyHint === true || idempotentHint === true || destructiveHint === false) return undefined
    const decision: Decision = { verdict: 'ask', rule: 'repeat', author: 'Jackfield' }
    const request = { entry, subject, origin: serverOrigin(connection.config), row }
    if (questions.canAsk('approval')) onAsking()
    const answer = await requestApproval(
      { ...request, ruling: { ...ruling, decision, remember: [] } },
      this.#deps,
      signal,
    )
    if (!answer.allowed) return answer.reason
    return 'result' in answer || answer.edited
      ? 'its arguments or its result were edited, and only an unchanged call is repeated'
      : undefined
  }

  #find(server: string, tool: string): CatalogTool | undefined {
    return this.#deps.catalog.tools().find((entry) => entry.server === server && entry.tool.name === tool)
  }

  /** Releases or withholds a result as policy decides. Unless it is withheld, its data labels are recorded. */
  async #release(
    entry: CatalogTool,
    subject: PolicySubject,
    result: CallToolResult,
    row: number,
    typed: boolean,
    signal: AbortSignal,
  ): Promise<ReleasedResult> {
    const { policy } = this.#deps
    try {
      const decision = policy.decideResult(subject, typed)
      const passed: ReleasedResult =
        decision === undefined
          ? { result }
          : await decideRelease({ entry, subject, result, decision, row }, this.#deps, signal)
      if (passed.release?.outcome !== 'withheld') {
        policy.noteLabels(subject.conversation, subject.server, subject.dataLabels ?? [])
      }
      return passed
    } catch (error) {
      // Policy could not decide later calls of the conversation without the labels of this result, so it is withheld.
      const decision: Decision = { verdict: 'deny', rule: 'unrecorded', author: 'Jackfield' }
      return { result: withheldResult(entry, reasonOf(error)), release: { decision, outcome: 'withheld' } }
    }
  }

  #disabledRuling(entry: CatalogTool): (Ruling & { reason: string }) | undefined {
    const disabledReason = this.#deps.disabledReason?.(entry.server, entry.tool.name)
    if (disabledReason === undefined) return undefined
    const reason = `${disabledReason}. Only the person can change that: ${fixText({ action: 'review', server: entry.server })}`
    const decision: Decision = { verdict: 'deny', rule: 'quarantine', author: 'Jackfield' }
    return { decision, reason, remember: [], matched: [], grants: [], labels: [], readOnlyTools: [] }
  }

  /** Whether a tool's definition changed since the decision. */
  #hasChanged(entry: CatalogTool, decided: PolicySubject, connection: ServerConnection): boolean {
    const current = this.#deps.catalog.tool(entry.name).entry
    return (
      connection.identity !== decided.identity ||
      toolDefinition(current.tool) !== toolDefinition(decided.tool) ||
      this.#disabledRuling(current) !== undefined
    )
  }

  async #send(
    entry: CatalogTool,
    subject: PolicySubject,
    connection: ServerConnection,
    notice: CallNotice,
    decision: Decision,
    isAsked: boolean,
    { signal, onProgress, meta, timeoutMs, logLevel }: BrokerOptions,
  ): Promise<CallFailure | { outcome: 'ok' | 'error'; result: CallToolResult; error?: undefined }> {
    const { activeRequests, suspendedCalls, tasks, callTimeoutMs, emit } = this.#deps
    const { server, tool, caller, conversation } = notice
    const { arguments: args } = subject
    let client: Client
    try {
      const connected = connection.readyNow(conversation)
      client = connected ?? (await connection.ready(signal, conversation))
      // Without waiting for the user or the server, nothing can have changed since the decision.
      if ((isAsked || connected === undefined) && this.#hasChanged(entry, subject, connection)) {
        return {
          outcome: 'changed',
          result: failure(`${tool} of ${server} changed meanwhile and was not called. Look at it again.`),
        }
      }
    } catch (error) {
      const result = failure(`${tool} was not called: ${reasonWithFixes(error)}`)
      return signal.aborted
        ? { outcome: 'cancelled', result, error: { code: 'CANCELLED', message: reasonOf(error) } }
        : { outcome: 'error', result, error: failureOf(error) }
    }

    const within = conversation === undefined ? {} : { conversation }
    const endRequest = activeRequests.begin({
      server,
      row: notice.activity,
      method: 'tools/call',
      target: tool,
      arguments: args,
      caller,
      ...within,
    })
    const request = { server, tool, arguments: args, caller, decision, ...within }
    const start = { call: notice.activity, server, identity: connection.identity, request }
    const suspension = suspendedCalls.begin(start)
    emit({ type: 'call', state: 'begins', call: notice })
    let outcome: CallFailure['outcome'] | 'ok' = 'unknown'
    let requestError: unknown
    try {
      const call = (): Promise<CallToolResult> =>
        tasks.call(client, start, args, {
          signal,
          timeoutMs: timeoutMs ?? connection.config.callTimeoutMs ?? callTimeoutMs,
          ...(meta !== undefined && { meta }),
          ...(logLevel !== undefined && { logLevel }),
          onRound: (round) => suspension.save(round),
          onAnswered: () => suspension.sending(),
          onProgress: (report) => {
            emit({ type: 'progress', server, tool, activity: notice.activity, ...report })
            onProgress?.(report)
          },
        })
      const result = await this.#retryAfterUrls(call, server, tool, args, signal)
      outcome = result.isError ? 'error' : 'ok'
      suspension.end()
      return { outcome, result }
    } catch (error) {
      if (isTransportError(error)) connection.suspect(client)
      requestError = error
      const callFailure = suspension.end()
        ? suspendedCall(server, tool)
        : error instanceof TaskDetached
          ? detachedTask(server, tool)
          : failedCall(server, tool, error)
      outcome = callFailure.outcome
      return callFailure
    } finally {
      endRequest(requestError)
      emit({ type: 'call', state: 'ends', call: notice, outcome })
    }
  }

  /** Calls the tool, and repeats the call after each accepted URL elicitation. */
  async #retryAfterUrls(
    call: () => Promise<CallToolResult>,
    server: string,
    tool: string,
    args: JsonRecord,
    signal: AbortSignal,
  ): Promise<CallToolResult> {
    const cause = { id: 0, method: 'tools/call', params: { name: tool, arguments: args } }
    for (let retries = 0; ; retries++) {
      try {
        return await call()
      } catch (error) {
        if (retries >= maxUrlRetries || signal.aborted) throw error
        if ((await this.#deps.openRequiredUrls?.(server, error, { cause, signal })) !== true) throw error
      }
    }
  }
}

/** A tool visible only to its server's app can be called by the app or the user. */
function appOnlyRuling({ tool }: CatalogTool, caller: Caller): (Ruling & { reason: string }) | undefined {
  if (caller === 'app' || caller === 'person' || caller === 'cli' || isVisibleTo('model', tool))
    return undefined
  const decision: Decision = { verdict: 'deny', rule: 'visibility', author: 'Jackfield' }
  const reason = 'it is for the app of its server only'
  return { decision, reason, remember: [], matched: [], grants: [], labels: [], readOnlyTools: [] }
}

function refusalReason(decision: Decision): string {
  if (decision.rule === 'default') return 'the policy allows nothing it does not name'
  if (decision.rule.startsWith('remembered:')) return 'the person said no before'
  return `rule "${decision.rule}" forbids it`
}

const maxProblemLength = 1_000

/** Why arguments do not match the tool's schema; undefined if they do, or if that cannot be checked. */
export function problemWithArguments({ tool }: CatalogTool, args: unknown): string | undefined {
  let validator: Validator
  try {
    validator = compileSchema(tool.inputSchema)
  } catch {
    // The server validates too; an unsupported dialect does not prevent a call.
    return undefined
  }
  return validator.check(args)?.slice(0, maxProblemLength)
}
