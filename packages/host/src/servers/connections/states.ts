import { McpError, type McpErrorCode } from '@jackfield/sdk'
import { FixableError } from '../../shared/failures.ts'
import { isRecord } from '../../shared/json.ts'
import type { ConnectionState, Failure, Fix, ServerConfig } from '../../types/index.ts'

/** A state without its start time. */
export type StateDetails = ConnectionState extends infer S
  ? S extends unknown
    ? Omit<S, 'sinceMs'>
    : never
  : never

/** Whether requests can be sent. */
export function isUp({ state }: Pick<ConnectionState, 'state'>): boolean {
  return state === 'ready' || state === 'degraded'
}

/** Whether a connection attempt is running, so that waiting makes sense. */
export function isConnecting({ state }: Pick<ConnectionState, 'state'>): boolean {
  return state === 'connecting' || state === 'reconnecting'
}

/** Whether the lists of this state are valid. */
export function hasLists({ state }: Pick<ConnectionState, 'state'>): boolean {
  return isUp({ state }) || isConnecting({ state }) || state === 'asleep'
}

/** The error of a request to a server that is not connected: why, and what the user can do. */
export function notConnected(
  code: 'UNAUTHORIZED' | 'CONNECTION_CLOSED',
  what: string,
  state: ConnectionState,
): FixableError {
  const reason = 'reason' in state ? state.reason : 'the connection ended'
  // The reason says why the connection was started or lost, not why it takes long.
  const why = isConnecting(state) ? `it is ${state.state} (${reason})` : reason
  return new FixableError(code, `${what}: ${why}`, 'fixes' in state ? state.fixes : [])
}

const finalCodes: ReadonlySet<McpErrorCode> = new Set([
  'INVALID',
  'REFUSED',
  'UNAUTHORIZED',
  'VERSION_MISMATCH',
])

/** Failures that do not recover by themselves: an immediate retry would only repeat them. */
export function isFinal(error: unknown): boolean {
  return error instanceof McpError && finalCodes.has(error.code)
}

/** Why a server failed. */
interface ConnectFailure {
  readonly name: string
  readonly config: ServerConfig
  readonly reason: string
  readonly failure: Failure | undefined
  /** Whether it waits for consent. */
  readonly unapproved: boolean
  /** Whether a login is possible. */
  readonly signsIn: boolean
}

/** The state of a failed server, with what the user can do. */
export function failedState({
  name,
  config,
  reason,
  failure,
  unapproved,
  signsIn,
}: ConnectFailure): StateDetails {
  const details = { reason, ...(failure !== undefined && { error: failure }) }
  if (unapproved) {
    return { state: 'needs-approval', ...details, fixes: [{ action: 'approve', server: name }] }
  }
  if (failure?.code === 'UNAUTHORIZED' && signsIn && loginCanHelp(failure)) {
    return { state: 'needs-sign-in', ...details, fixes: [{ action: 'sign-in', server: name }] }
  }
  return { state: 'failed', ...details, fixes: failure?.fixes ?? fixesFor(name, config, failure) }
}

/**
 * Whether a login can help: not if the server refuses a request without naming credentials that it would accept, or if the
 * login lacks what only the configuration can add.
 */
function loginCanHelp(failure: Failure): boolean {
  const { data } = failure
  const isForbidden = isRecord(data) && data['status'] === 403 && data['challenge'] === undefined
  return !isForbidden && missingForLogin(failure) === undefined
}

function missingForLogin({ data }: Failure): unknown {
  return isRecord(data) ? data['missing'] : undefined
}

/** What the user can do about an unreachable server. */
function fixesFor(server: string, config: ServerConfig, error: Failure | undefined): readonly Fix[] {
  const diagnose: Fix = { action: 'diagnose', server }
  const setting = settingFor(config, error)
  if (setting !== undefined)
    return [{ action: 'configure', server, setting }, ...(setting === 'era' ? [] : [diagnose])]
  if (error?.code === 'VERSION_MISMATCH') return [{ action: 'update', server }]
  return [diagnose]
}

/** The setting of a server that an error of its connection points to. */
function settingFor(
  config: ServerConfig,
  error: Failure | undefined,
): Extract<Fix, { action: 'configure' }>['setting'] | undefined {
  switch (error?.code) {
    case 'CONNECT_FAILED':
      return 'url' in config ? 'url' : 'command'
    case 'HTTP':
      return 'url'
    case 'TIMEOUT':
      return 'connectTimeoutMs'
    case 'UNAUTHORIZED':
      return missingForLogin(error) === 'client' ? 'auth' : 'headers'
    case 'VERSION_MISMATCH':
      return config.era === undefined || config.era === 'auto' ? undefined : 'era'
    default:
      return undefined
  }
}

interface StateStoreOptions {
  /** Redacts a state. */
  shown: (state: ConnectionState) => ConnectionState
  /** Called after every change of `state`. */
  onState: (state: ConnectionState) => void
  /** Once aborted, nothing changes any more. */
  signal: AbortSignal
}

/** The state of one connection, with waiting for changes. */
export class StateStore {
  readonly #options: StateStoreOptions
  readonly #waiting = new Set<() => void>()
  #state: ConnectionState

  constructor(first: StateDetails, options: StateStoreOptions) {
    this.#options = options
    this.#state = { ...first, sinceMs: Date.now() }
  }

  get state(): ConnectionState {
    return this.#state
  }

  set(state: StateDetails): void {
    const { shown, onState, signal } = this.#options
    if (signal.aborted) return
    this.#state = shown({ ...state, sinceMs: Date.now() })
    for (const wake of this.#waiting) wake()
    onState(this.#state)
  }

  /** Sets the last state without a notification. */
  end(state: StateDetails): void {
    this.#state = { ...state, sinceMs: Date.now() }
  }

  /** Resolves with the next change, or when the signal is aborted. */
  next(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#waiting.delete(wake)
        signal.removeEventListener('abort', wake)
        resolve()
      }
      this.#waiting.add(wake)
      signal.addEventListener('abort', wake, { once: true })
    })
  }
}
