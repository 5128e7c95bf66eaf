import { randomUUID } from 'node:crypto'
import { McpError } from '@jackfield/sdk'
import { defined } from '@jackfield/sdk/internal'
import { linkSignals, orAborted } from '../shared/signals.ts'
import type { DoctorStep, Host } from '../types/index.ts'
import type { Run, RunRequest, RunResults, RunRow } from './contract.ts'
import { faultOf } from './fault.ts'
import type { TopicSource } from './topic.ts'
import type { Change } from './view.ts'

/** Ended runs that are kept. */
const maxStoredRuns = 200
/** Maximum characters of these runs' results as JSON; the oldest are dropped. */
const maxStoredCharacters = 33_554_432
/** Maximum characters of a run's label. */
const maxLabelChars = 200
/** Maximum changes in the row of a watch. */
const maxStoredWatched = 100

/** Who starts a run, and callbacks. */
export interface RunOptions {
  /** The client that starts it, for users. */
  by: string
  /** Ends the run, if it belongs to one client alone. */
  signal?: AbortSignal
  /** Called with the activity row of the run, once it exists. */
  onActivity?: (activity: number) => void
  /** Called when it ended. */
  onEnd?: () => void
}

interface RunEntry {
  run: Run
  readonly stop: AbortController
  readonly ended: Promise<void>
  characters: number
}

/** Work with an id: started by one client, visible to all and stoppable by any. */
export class Runs {
  readonly #host: Host
  readonly #runs = new Map<string, RunEntry>()
  readonly #listeners = new Set<(changes: readonly Change<RunRow>[]) => void>()
  #characters = 0

  constructor(host: Host) {
    this.#host = host
  }

  readonly topic: TopicSource<RunRow> = {
    rows: () => [...this.#runs].map(([id, { run }]) => [id, rowOf(run)] as const),
    follow: ({ push }) => {
      this.#listeners.add(push)
      return () => this.#listeners.delete(push)
    },
  }

  /** Whether any run is in progress. */
  get busy(): boolean {
    return [...this.#runs.values()].some(({ run }) => run.state === 'running')
  }

  /** Starts it and returns its id at once. */
  start(request: RunRequest, { by, signal, onActivity, onEnd }: RunOptions): string {
    const id = randomUUID()
    const stop = new AbortController()
    const { signal: combinedSignal, release } = linkSignals(stop.signal, signal)
    const startedAt = performance.now()
    const run: Run = {
      id,
      kind: request.kind,
      label: labelOf(request).slice(0, maxLabelChars),
      by,
      at: new Date().toISOString(),
      state: 'running',
      request,
    }
    const change = (part: Partial<Run>): void => this.#change(id, part)
    const complete = async (): Promise<void> => {
      // Until the run is stored, its changes would be lost.
      await null
      let end: Partial<Run>
      try {
        const result = await this.#perform(request, combinedSignal, change, onActivity)
        end = { state: 'done', result }
      } catch (error) {
        end = { state: 'failed', fault: faultOf(error) }
      }
      change({
        ...end,
        ...(combinedSignal.aborted && { state: 'stopped' }),
        durationMs: Math.round(performance.now() - startedAt),
      })
      release()
      onEnd?.()
    }
    const ended = complete()
    this.#runs.set(id, { run, stop, ended, characters: 0 })
    this.#changed(id, run)
    this.#trim()
    return id
  }

  /** @throws McpError 'NOT_FOUND' if there is no such run, or it was dropped */
  get(id: string): Run {
    return this.#entry(id).run
  }

  /** Resolves with the run when it ended. */
  async wait(id: string, signal?: AbortSignal): Promise<Run> {
    const entry = this.#entry(id)
    await orAborted(entry.ended, signal)
    return entry.run
  }

  /** Cancels it; no effect if it ended. */
  stop(id: string, by: string): void {
    this.#entry(id).stop.abort(new McpError('CANCELLED', `${by} stopped it`))
  }

  #entry(id: string): RunEntry {
    const entry = this.#runs.get(id)
    if (entry === undefined)
      throw new McpError('NOT_FOUND', `There is no run ${id}, or it ended too long ago.`)
    return entry
  }

  async #perform(
    request: RunRequest,
    signal: AbortSignal,
    change: (part: Partial<Run>) => void,
    onActivity: ((activity: number) => void) | undefined,
  ): Promise<Partial<RunResults>> {
    const host = this.#host
    const onRow = (activity: number): void => {
      change({ activity })
      onActivity?.(activity)
    }
    switch (request.kind) {
      case 'call': {
        const { kind: _, tool, arguments: args, caller = 'person', ...options } = request
        const call = await host.call(tool, args, {
          ...options,
          caller,
          typed: true,
          signal,
          onRow,
          onProgress: (progress) => change({ progress }),
        })
        return { call }
      }
      case 'read':
        return { read: await host.read(request.server, request.uri, { signal, onRow }) }
      case 'prompt':
        return { prompt: await host.prompt(request.prompt, request.arguments, { signal, onRow }) }
      case 'watch':
        await this.#watch(request, signal, change)
        return { watch: null }
      case 'examine': {
        const steps: DoctorStep[] = []
        const onStep = (step: DoctorStep): void => {
          steps.push(step)
          change({ steps: [...steps] })
        }
        return { examine: await host.diagnose(request.server, { onStep, signal }) }
      }
      case 'reconnect':
        await host.reconnect(request.server)
        return { reconnect: null }
      case 'signIn':
        await host.logins.signIn(request.server)
        return { signIn: null }
      case 'replay':
        return { replay: await host.trace.replay(request.request, { signal }) }
      case 'code': {
        const { program, servers, file, maxCalls } = request
        const limits = maxCalls === undefined ? undefined : { calls: maxCalls }
        return { code: await host.code.run(program, { signal, ...defined({ servers, file, limits }) }) }
      }
    }
  }

  async #watch(
    { server, uris }: Extract<RunRequest, { kind: 'watch' }>,
    signal: AbortSignal,
    change: (part: Partial<Run>) => void,
  ): Promise<void> {
    let count = 0
    let acknowledged: NonNullable<Run['watched']>['acknowledged'] | undefined
    let changes: NonNullable<Run['watched']>['changes'] = []
    const publish = (): void => {
      if (acknowledged !== undefined) change({ watched: { acknowledged, changes } })
    }
    const watch = await this.#host.watch(server, uris, (serverChange) => {
      count += 1
      const next = { number: count, at: new Date().toISOString(), change: serverChange }
      changes = [...changes, next].slice(-maxStoredWatched)
      publish()
    })
    acknowledged = watch.acknowledged
    publish()
    const close = (): void => void watch.close()
    signal.addEventListener('abort', close, { once: true })
    if (signal.aborted) close()
    await watch.closed
    signal.removeEventListener('abort', close)
  }

  #change(id: string, part: Partial<Run>): void {
    const entry = this.#runs.get(id)
    if (entry === undefined) return
    entry.run = { ...entry.run, ...part }
    if (part.result !== undefined) {
      entry.characters = charactersOf(part.result)
      this.#characters += entry.characters
    }
    this.#changed(id, entry.run)
    this.#trim()
  }

  /** Drops the oldest ended runs beyond the limits. */
  #trim(): void {
    for (const [id, entry] of this.#runs) {
      if (this.#runs.size <= maxStoredRuns && this.#characters <= maxStoredCharacters) return
      if (entry.run.state === 'running') continue
      this.#characters -= entry.characters
      this.#runs.delete(id)
      this.#emit([{ remove: id }])
    }
  }

  #changed(id: string, run: Run): void {
    if (this.#listeners.size > 0) this.#emit([{ set: id, row: rowOf(run) }])
  }

  #emit(changes: readonly Change<RunRow>[]): void {
    for (const listener of this.#listeners) listener(changes)
  }
}

/** About the characters of a value as JSON. */
function charactersOf(value: unknown): number {
  if (typeof value === 'string') return value.length + 2
  if (typeof value !== 'object' || value === null) return 4
  let characters = 2
  for (const [name, member] of Object.entries(value)) characters += name.length + 4 + charactersOf(member)
  return characters
}

function rowOf({ request: _request, result: _result, ...row }: Run): RunRow {
  return row
}

function labelOf(request: RunRequest): string {
  switch (request.kind) {
    case 'call':
      return request.tool
    case 'read':
      return request.uri
    case 'prompt':
      return request.prompt
    case 'replay':
      return request.request.target
    case 'code':
      return request.program
    case 'watch':
    case 'examine':
    case 'reconnect':
    case 'signIn':
      return request.server
  }
}
