import { type CallToolResult, McpError } from '@jackfield/sdk'
import type { Client } from '@jackfield/sdk/client'
import type { Origins } from '../asking/index.ts'
import type { Catalog } from '../catalog/index.ts'
import type { ServerConnection } from '../connections/index.ts'
import { frozenCopy, isRecord, type JsonRecord } from '../json.ts'
import { type PolicySubject, toolDefinition } from '../policy/index.ts'
import type { OpenRow } from '../store/index.ts'
import { reasonOf } from '../text.ts'
import type { BrokeredCall, Caller, CatalogTool, Decision, Failure, HostEvent } from '../types/index.ts'
import { type ApprovalDeps, approval } from './approval.ts'
import { failure, failureOf, type Lost, lostCall } from './results.ts'

export interface BrokerDeps extends ApprovalDeps {
  catalog: Catalog
  origins: Origins
  callTimeoutMs: number
  emit: (event: HostEvent) => void
}

export interface BrokerOptions {
  caller: Caller
  /** The person wrote this very call. */
  typed: boolean
  signal: AbortSignal
  /** The row that caused the call. */
  cause?: number | undefined
}

/** The one way to an effect: policy, then the person where the policy says so, then the call, and a row of it all. */
export class Broker {
  readonly #deps: BrokerDeps

  constructor(deps: BrokerDeps) {
    this.#deps = deps
  }

  /** Throws an McpError 'INVALID' for an unknown name or arguments that are no JSON object; otherwise gives a result. */
  async call(name: string, given: JsonRecord, options: BrokerOptions): Promise<BrokeredCall> {
    const { catalog, policy, recorder } = this.#deps
    const { entry, connection } = catalog.tool(name)
    const args = copyOf(given)
    const subject = { server: entry.server, identity: connection.identity, tool: entry.tool }
    const ruling = policy.decide(subject, options.typed)
    const { decision } = ruling
    const row = recorder.open({
      kind: 'call',
      server: entry.server,
      cause: options.cause ?? null,
      summary: `${entry.tool.name} of ${entry.server}`,
      detail: { tool: entry.tool.name, arguments: args, caller: options.caller, decision },
    })
    const finish = (
      outcome: string,
      result: CallToolResult,
      more: Partial<Pick<BrokeredCall, 'denied' | 'edited' | 'error'>> = {},
    ): BrokeredCall => {
      const { denied = false, edited, error } = more
      const failed = error !== undefined && { error }
      row.close(outcome, { result, ...failed, ...(edited !== undefined && { sent: edited }) })
      return {
        result,
        denied,
        decision,
        activity: row.id,
        ...failed,
        ...(edited !== undefined && { edited }),
      }
    }

    if (decision.verdict === 'deny')
      return finish('denied', denial(entry, because(decision)), { denied: true })
    let sent = args
    let edited = {}
    if (decision.verdict === 'ask') {
      const request = { entry, subject, ruling, arguments: args, caller: options.caller, row: row.id }
      const answer = await approval(request, this.#deps, options.signal)
      if (!answer.allowed) {
        if (answer.outcome !== 'cancelled')
          return finish(answer.outcome, denial(entry, answer.reason), { denied: true })
        const error: Failure = { code: 'CANCELLED', message: answer.reason }
        return finish('cancelled', failure(`${entry.tool.name} was not called: ${answer.reason}.`), { error })
      }
      sent = answer.arguments
      if (answer.edited) edited = { edited: sent }
    }
    const { outcome, result, error } = await this.#send(entry, subject, connection, sent, row, options)
    return finish(outcome, result, { ...edited, ...(error !== undefined && { error }) })
  }

  async #send(
    entry: CatalogTool,
    decided: PolicySubject,
    connection: ServerConnection,
    args: JsonRecord,
    row: OpenRow,
    { caller, signal }: BrokerOptions,
  ): Promise<Lost | { outcome: 'ok' | 'error'; result: CallToolResult; error?: undefined }> {
    const { catalog, origins, callTimeoutMs, emit } = this.#deps
    const { server } = entry
    const tool = entry.tool.name
    let client: Client
    try {
      client = await connection.ready(signal)
      const now = catalog.tool(entry.name).entry.tool
      if (toolDefinition(now) !== toolDefinition(decided.tool)) {
        return {
          outcome: 'changed',
          result: failure(`${tool} of ${server} changed meanwhile and was not called. Look at it again.`),
        }
      }
    } catch (error) {
      const result = failure(`${tool} was not called: ${reasonOf(error)}`)
      return signal.aborted
        ? { outcome: 'cancelled', result, error: { code: 'CANCELLED', message: reasonOf(error) } }
        : { outcome: 'error', result, error: failureOf(error) }
    }

    const over = origins.begin({
      server,
      row: row.id,
      method: 'tools/call',
      target: tool,
      arguments: args,
      caller,
    })
    try {
      const result = await client.call(tool, args, {
        signal,
        timeoutMs: callTimeoutMs,
        onProgress: (report) => emit({ type: 'progress', server, tool, ...report }),
      })
      return { outcome: result.isError ? 'error' : 'ok', result }
    } catch (error) {
      if (isTransport(error)) connection.suspect(client)
      return lostCall(server, tool, error)
    } finally {
      over()
    }
  }
}

/** Failures that a lost connection would explain. */
export function isTransport(error: unknown): boolean {
  return (
    error instanceof McpError &&
    ['CONNECTION_CLOSED', 'CONNECT_FAILED', 'HTTP', 'TIMEOUT'].includes(error.code)
  )
}

function copyOf(given: JsonRecord): JsonRecord {
  let copy: JsonRecord | undefined
  try {
    copy = frozenCopy(given)
  } catch (error) {
    throw new McpError('INVALID', `The arguments are no JSON: ${reasonOf(error)}`, { cause: error })
  }
  if (isRecord(copy)) return copy
  throw new McpError('INVALID', 'The arguments must be a JSON object')
}

function because(decision: Decision): string {
  if (decision.rule === 'default') return 'the policy allows nothing it does not name'
  if (decision.rule.startsWith('remembered:')) return 'the person said no before'
  return `rule "${decision.rule}" forbids it`
}

function denial(entry: CatalogTool, reason: string): CallToolResult {
  return failure(
    `${entry.tool.name} of ${entry.server} was not called: ${reason}. Do not try it again or another way around it.`,
  )
}
