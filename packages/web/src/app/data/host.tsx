import {
  type ClientState,
  createHostClient,
  type HostClient,
  type MethodName,
  type Methods,
  type TopicRow,
  type View,
} from '@jackfield/host/client'
import { QueryClient, QueryClientProvider, useQuery } from '@tanstack/react-query'
import {
  createContext,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react'
import { type FromHost, fromHost } from '../text/untrusted-text.ts'
import { pageBuild } from './session.ts'
import { closeCodes, socketChannel } from './socket-channel.ts'

/** The kinds of questions that the page can show. */
const questionKinds = [
  'approval',
  'result',
  'elicitation',
  'sampling-request',
  'sampling-result',
  'roots',
  'start',
  'input',
  'installation',
  'drift',
  'login',
  'app',
] as const

/** Why the page does not reconnect: no session, or a page of another build. */
export type Refusal = 'login' | 'build'

/** The connection of this tab to its host, with a cache of what was read. */
export class HostConnection {
  readonly client: HostClient
  readonly queries = new QueryClient({
    defaultOptions: {
      queries: { retry: false, staleTime: 30_000, refetchOnWindowFocus: false, networkMode: 'always' },
    },
  })
  refusal: Refusal | undefined
  readonly #topics = new Map<string, TopicStore>()
  readonly #listeners = new Set<() => void>()

  constructor() {
    this.client = createHostClient({
      name: 'web',
      build: pageBuild,
      connect: () =>
        socketChannel((code) => {
          this.refusal = code === closeCodes.loginNeeded ? 'login' : 'build'
          this.client.close()
        }),
      onState: ({ state }) => {
        if (state === 'connected') this.#attachSurface()
        for (const listener of this.#listeners) listener()
      },
    })
    this.#invalidateOnChange('catalog', ['catalog', 'library'])
    this.#invalidateOnChange('configuration', ['config', 'policy', 'models', 'secrets', 'installs'])
  }

  readonly onState = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  readonly state = (): ClientState => this.client.state

  /** Invalidates the results of methods of these groups with every change of a topic. */
  #invalidateOnChange(topic: 'catalog' | 'configuration', groups: readonly string[]): void {
    this.client.subscribe(topic, {
      rows: () => {
        for (const group of groups) void this.queries.invalidateQueries({ queryKey: [group] })
      },
    })
  }

  /** Called after every connection, since a host that was restarted does not know the surface of this tab. */
  #attachSurface(): void {
    queueMicrotask(() => {
      this.client
        .call('surface.attach', { name: 'web', kinds: [...questionKinds], urlElicitation: true })
        .catch(() => {})
    })
  }

  topic(name: string): TopicStore {
    const existing = this.#topics.get(name)
    if (existing !== undefined) return existing
    const store = new TopicStore(this.client, name, () => this.#topics.delete(name))
    this.#topics.set(name, store)
    return store
  }
}

/** Changes within this time are rendered together: React renders each update of a burst, and fails after 50. */
const batchMs = 16

/** The rows of one topic, subscribed while a component shows them. */
class TopicStore {
  /** The rows that are shown. */
  rows: View<unknown> | undefined
  #latest: View<unknown> | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  error: Error | undefined
  readonly #client: HostClient
  readonly #name: string
  readonly #onIdle: () => void
  readonly #listeners = new Set<() => void>()
  #unsubscribe: (() => void) | undefined

  constructor(client: HostClient, name: string, onIdle: () => void) {
    this.#client = client
    this.#name = name
    this.#onIdle = onIdle
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    this.#unsubscribe ??= this.#client.subscribe<string>(this.#name, {
      rows: (rows) => {
        this.#latest = rows
        if (this.#timer === undefined) this.#publish()
      },
      ended: (error) => {
        this.error = error
        this.#publish()
      },
    })
    return () => {
      this.#listeners.delete(listener)
      // Another component may subscribe in the same commit.
      queueMicrotask(() => {
        if (this.#listeners.size > 0) return
        this.#unsubscribe?.()
        this.#unsubscribe = undefined
        this.#onIdle()
      })
    }
  }

  #publish(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      if (this.rows !== this.#latest) this.#publish()
    }, batchMs)
    this.rows = this.#latest
    for (const listener of this.#listeners) listener()
  }
}

const HostContext = createContext<HostConnection | undefined>(undefined)

export function HostProvider({ host, children }: { host: HostConnection; children: ReactNode }): ReactNode {
  return (
    <HostContext value={host}>
      <QueryClientProvider client={host.queries}>{children}</QueryClientProvider>
    </HostContext>
  )
}

export function useHost(): HostConnection {
  const host = useContext(HostContext)
  if (host === undefined) throw new Error('There is no host around this component')
  return host
}

/** The state of the connection. */
export function useConnection(): ClientState {
  const host = useHost()
  return useSyncExternalStore(host.onState, host.state)
}

/** The rows of a topic; undefined until they are loaded. Every change creates a new view. */
export function useTopic<T extends string>(name: T): View<FromHost<TopicRow<T>>> | undefined
export function useTopic(name: string): View<unknown> | undefined {
  const host = useHost()
  const store = host.topic(name)
  return useSyncExternalStore(store.subscribe, () => store.rows)
}

/** The error that ended the subscription of a topic. */
export function useTopicError(name: string): Error | undefined {
  const store = useHost().topic(name)
  return useSyncExternalStore(store.subscribe, () => store.error)
}

interface Read<T> {
  readonly data: T | undefined
  readonly error: Error | null
  readonly isPending: boolean
  /** Whether the data was read after the component was mounted. */
  readonly isFetchedAfterMount: boolean
  refetch(): void
}

/**
 * Calls a method without side effects and caches its result by its parameters. `everyMs`: interval of refreshes while the component
 * is shown; `isFresh`: ignores a cached result when the component is mounted.
 */
export function useRead<M extends MethodName>(
  method: M,
  params: Methods[M]['params'],
  {
    enabled = true,
    everyMs,
    isFresh = false,
    keepsLast = false,
  }: {
    enabled?: boolean
    everyMs?: number | undefined
    isFresh?: boolean
    /** Returns the result of the previous parameters until that of the new ones is loaded. */
    keepsLast?: boolean
  } = {},
): Read<FromHost<Methods[M]['result']>> {
  const { client } = useHost()
  const { data, error, isPending, isFetchedAfterMount, refetch } = useQuery({
    queryKey: [method.split('.')[0], method, params],
    queryFn: ({ signal }) => client.call(method, params, { signal }).then((result) => fromHost(result)),
    enabled,
    ...(isFresh && { staleTime: 0 }),
    // Data with an interval is also read when the component is mounted.
    ...(everyMs !== undefined && { refetchInterval: everyMs, staleTime: 0 }),
  })
  const last = useRef<typeof data>(undefined)
  useEffect(() => {
    if (data !== undefined) last.current = data
  }, [data])
  return {
    data: data ?? (keepsLast && enabled ? last.current : undefined),
    ...{ error, isPending, isFetchedAfterMount, refetch: () => void refetch() },
  }
}

/** What was thrown, as an error. */
export function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason))
}

export interface Action<Args extends readonly unknown[]> {
  run(...args: Args): Promise<boolean>
  readonly isRunning: boolean
  readonly error: Error | undefined
  reset(): void
}

/** Wraps an async function with side effects for a button. `run` resolves with whether it succeeded; `error` has the last failure. */
export function useAction<Args extends readonly unknown[]>(
  action: (...args: Args) => Promise<unknown>,
): Action<Args> {
  const [state, setState] = useState<{ isRunning: boolean; error?: Error }>({ isRunning: false })
  const run = useCallback(
    async (...args: Args): Promise<boolean> => {
      setState({ isRunning: true })
      try {
        await action(...args)
        setState({ isRunning: false })
        return true
      } catch (reason) {
        setState({ isRunning: false, error: asError(reason) })
        return false
      }
    },
    [action],
  )
  return { run, isRunning: state.isRunning, error: state.error, reset: () => setState({ isRunning: false }) }
}

/** The current time in milliseconds since 1970, updated every `everyMs`, by default every second. */
export function useNow(everyMs = 1_000): number {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return now
}
