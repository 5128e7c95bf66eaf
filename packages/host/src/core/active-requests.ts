import { McpError, RpcError } from '@jackfield/sdk'
import type { AskContext } from '@jackfield/sdk/client'
import { defined } from '@jackfield/sdk/internal'
import { canonical, type JsonRecord } from '../shared/json.ts'
import type { Caller, Cause } from '../types/index.ts'

/** A request in progress that may cause a server request. */
export interface ActiveRequest {
  server: string
  /** Its activity row. */
  row: number
  method: 'tools/call' | 'resources/read' | 'prompts/get'
  /** The tool or prompt by its own name, or the resource's URI. */
  target: string
  arguments?: JsonRecord
  caller?: Caller
  conversation?: string
  /** The task that the server created for it. */
  taskId?: string
}

/** The request that caused a server request, as far as it is known. */
export interface RequestOrigin {
  cause: Cause
  /** The row that caused the question; null if unknown. */
  row: number | null
}

/** Milliseconds for which a request without a response may still run at its server. */
const abandonedMs = 600_000
/** Maximum remembered requests without a response for each server. */
const maxAbandoned = 32

/** Requests in progress by server, to find the cause of a server request. */
export class ActiveRequests {
  readonly #open = new Map<string, Set<ActiveRequest>>()
  /** Requests that were cancelled or timed out here, by time; a question may still come from one. Oldest first. */
  readonly #abandoned = new Map<string, Map<ActiveRequest, number>>()

  /** Registers a request; call the returned function when it ends, with the error if it failed. */
  begin(request: ActiveRequest): (error?: unknown) => void {
    const { server } = request
    const open = this.#open.get(server) ?? new Set()
    this.#open.set(server, open)
    open.add(request)
    return (error) => {
      if (!open.delete(request) || !mayStillRun(error)) return
      const abandoned = this.#abandoned.get(server) ?? new Map<ActiveRequest, number>()
      this.#abandoned.set(server, abandoned)
      abandoned.set(request, performance.now())
      const [oldest] = abandoned.keys()
      if (abandoned.size > maxAbandoned && oldest !== undefined) abandoned.delete(oldest)
    }
  }

  /** Records that the server created a task for the request of this row. */
  becameTask(server: string, row: number, taskId: string): void {
    for (const request of this.#open.get(server) ?? []) if (request.row === row) request.taskId = taskId
  }

  /** Ends all requests of a server whose connection ended. */
  disconnected(server: string): void {
    this.#open.get(server)?.clear()
    this.#abandoned.delete(server)
  }

  /**
   * Finds the request that caused a server request, as reported by the transport. If the transport does not report it, a
   * server request that is sent only during a call (`within`) belongs to the only call in progress, unless a recently
   * abandoned call may still run at the server. Otherwise the cause stays unknown.
   */
  find(server: string, reported: AskContext['cause'], within = true): RequestOrigin {
    const exact = this.#exact(server, reported?.params['arguments'])
    if (exact !== undefined) return originOf(exact)
    const open = [...(this.#open.get(server) ?? [])]
    const possible = within && open.length > 0 ? [...open, ...this.#stillRunning(server)] : []
    const matching = reported === undefined ? possible : open.filter((request) => matches(request, reported))
    const request = matching.length === 1 ? matching[0] : undefined
    const equivalent = request ?? firstIfAllEqual(matching)
    if (equivalent === undefined) return { cause: { server, ...commonCause(matching) }, row: null }
    return { ...originOf(equivalent), row: request?.row ?? null }
  }

  /** The request with this arguments object, compared by reference. */
  #exact(server: string, args: unknown): ActiveRequest | undefined {
    if (args === undefined) return undefined
    for (const request of this.#open.get(server) ?? []) if (request.arguments === args) return request
    return undefined
  }

  #stillRunning(server: string): ActiveRequest[] {
    const abandoned = this.#abandoned.get(server) ?? new Map<ActiveRequest, number>()
    const since = performance.now() - abandonedMs
    for (const [request, endMs] of abandoned) if (endMs < since) abandoned.delete(request)
    return [...abandoned.keys()]
  }
}

function originOf(request: ActiveRequest): RequestOrigin {
  const { server, row, method, target, arguments: args, caller, conversation } = request
  return {
    row,
    cause: {
      server,
      ...(method === 'tools/call' && { tool: target }),
      ...defined({ arguments: args, caller, conversation }),
    },
  }
}

/** Whether a request that failed with this error may still run at its server: it was cancelled, or got no response. */
function mayStillRun(error: unknown): boolean {
  if (error === undefined || error instanceof RpcError) return false
  return !(error instanceof McpError) || !['CONNECTION_CLOSED', 'CONNECT_FAILED'].includes(error.code)
}

function matches(request: ActiveRequest, cause: NonNullable<AskContext['cause']>): boolean {
  // A task of 2025-11-25 asks while its result is waited for.
  if (cause.method === 'tasks/result') return request.taskId === cause.params['taskId']
  if (request.method !== cause.method) return false
  const target = cause.method === 'resources/read' ? cause.params['uri'] : cause.params['name']
  if (request.target !== target) return false
  return (
    request.method !== 'tools/call' || canonical(request.arguments) === canonical(cause.params['arguments'])
  )
}

/** The caller and conversation, if they are the same for all requests. */
function commonCause([first, ...rest]: readonly ActiveRequest[]): Pick<Cause, 'caller' | 'conversation'> {
  const { caller, conversation } = first ?? {}
  if (conversation === undefined || rest.some((other) => other.conversation !== conversation)) return {}
  return { conversation, ...(caller !== undefined && { caller }) }
}

/** The first of several requests that are equal except for their rows and tasks; undefined if they differ. */
function firstIfAllEqual(requests: readonly ActiveRequest[]): ActiveRequest | undefined {
  const [first, ...rest] = requests
  const textOf = (request: ActiveRequest): string => canonical({ ...request, row: 0, taskId: null })
  return first !== undefined && rest.every((other) => textOf(other) === textOf(first)) ? first : undefined
}
