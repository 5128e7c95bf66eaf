import { McpError } from '@jackfield/sdk'
import type { ConnectionState, Failure, ServerConfig } from '../../types/index.ts'

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
export function isComing({ state }: Pick<ConnectionState, 'state'>): boolean {
  return state === 'connecting' || state === 'reconnecting'
}

/** Whether the lists of this state are valid. */
export function hasLists({ state }: Pick<ConnectionState, 'state'>): boolean {
  return isUp({ state }) || isComing({ state }) || state === 'asleep'
}

/** The state in words, with a fix. */
export function describe(state: ConnectionState): string {
  const why = 'reason' in state ? ` (${state.reason})` : ''
  return `${state.state}${why}${'fix' in state ? `. ${state.fix}` : ''}`
}

/** Failures that do not recover by themselves: an immediate retry would only repeat them. */
export function isFinal(error: unknown): boolean {
  return error instanceof McpError && ['INVALID', 'UNAUTHORIZED', 'VERSION_MISMATCH'].includes(error.code)
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
  const why = { reason, ...(failure !== undefined && { error: failure }) }
  if (unapproved) {
    return { state: 'needs-approval', ...why, fix: `Agree to it with: jackfield config allow ${name}` }
  }
  if (failure?.code === 'UNAUTHORIZED' && signsIn) {
    return { state: 'needs-sign-in', ...why, fix: howToSignIn(name) }
  }
  return { state: 'failed', ...why, fix: fixFor(name, config, failure) }
}

export function howToSignIn(name: string): string {
  return `Sign in with: jackfield login ${name}`
}

/** What the user can do about an unreachable server. */
function fixFor(name: string, config: ServerConfig, error: Failure | undefined): string {
  const look = `Look it over with: jackfield doctor ${name}`
  const remote = 'url' in config
  switch (error?.code) {
    case 'CONNECT_FAILED':
      return remote
        ? `Check that the server runs and that its address is right. ${look}`
        : `Check that the command is installed and may be run. ${look}`
    case 'VERSION_MISMATCH':
      return config.era === undefined || config.era === 'auto'
        ? 'Update the server, or this program: they have no revision of the protocol in common.'
        : `Leave "era" out of its configuration: it is set to ${config.era}.`
    case 'TIMEOUT':
      return `If it is only slow to start, raise its connectTimeoutMs. ${look}`
    case 'UNAUTHORIZED':
      return `Check the headers in its configuration, or sign in with: jackfield login ${name}`
    case 'HTTP':
      return `Check the path of its address. ${look}`
    case 'INVALID':
      return 'Do what the reason says, then connect again.'
    case 'CONNECTION_CLOSED':
      return remote ? look : `What it wrote last says why it ended. ${look}`
    default:
      return look
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
