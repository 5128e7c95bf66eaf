import type { Run, RunRequest, RunRow } from '@jackfield/host/client'
import { useCallback, useEffect, useRef, useState } from 'react'
import { useAction, useHost, useTopic } from '../data/host.tsx'
import type { FromHost } from '../text/untrusted-text.ts'

export interface InspectorRun {
  /** The state of the run. */
  readonly row: FromHost<RunRow> | undefined
  /** The run with its result, once it is finished. */
  readonly run: Run | undefined
  /** The run before, for comparison. */
  readonly previous: Run | undefined
  readonly isRunning: boolean
  /** The id of the question that the run waits for, if it waits for the person. */
  readonly question: string | undefined
  readonly error: Error | undefined
  start(request: RunRequest): void
  stop(): void
}

/**
 * The last two runs of a target of a server, such as `tools/echo`. Their ids are stored, so that they survive a reload and
 * navigation.
 */
export function useRun(server: string, target: string): InspectorRun {
  const name = `jackfield.runs.${server}/${target}`
  const { client } = useHost()
  const [ids, setIds] = useState<readonly string[]>(() => storedIds(name))
  const [runs, setRuns] = useState<ReadonlyMap<string, Run>>(new Map())
  const topic = useTopic('runs')
  const [id = '', before = ''] = ids
  const row = topic?.get(id)
  const state = row?.state
  const requested = useRef(new Set<string>())
  const remember = useCallback(
    (next: readonly string[]): void => {
      sessionStorage.setItem(name, JSON.stringify(next))
      setIds(next)
    },
    [name],
  )
  useEffect(() => {
    for (const runId of [id, before]) {
      const isFinished = runId !== id || (state !== undefined && state !== 'running')
      if (runId === '' || !isFinished || requested.current.has(runId)) continue
      requested.current.add(runId)
      client.call('runs.get', { id: runId }).then(
        (run) => setRuns((current) => new Map(current).set(runId, run)),
        () => {},
      )
    }
  }, [client, id, before, state])
  const inbox = useTopic('inbox')
  const question = state === 'running' ? questionOf(inbox, server, row) : undefined
  const action = useAction(
    useCallback(
      async (request: RunRequest) => {
        const started = await client.call('runs.start', { request })
        setIds((current) => {
          const next = [started, ...current].slice(0, 2)
          sessionStorage.setItem(name, JSON.stringify(next))
          return next
        })
      },
      [client, name],
    ),
  )
  // A restarted host does not know them.
  useEffect(() => {
    if (topic !== undefined && id !== '' && row === undefined && !action.isRunning) {
      const timer = setTimeout(() => remember([]), 1_000)
      return () => clearTimeout(timer)
    }
  }, [topic, id, row, action.isRunning, remember])
  return {
    row,
    run: state === 'running' ? undefined : runs.get(id),
    previous: runs.get(before),
    isRunning: action.isRunning || state === 'running',
    question,
    error: action.error,
    start: (request) => void action.run(request),
    stop: () => void client.call('runs.stop', { id }),
  }
}

/** The oldest open question of the server that was asked during a run for the person. */
function questionOf(
  inbox: ReturnType<typeof useTopic<'inbox'>>,
  server: string,
  run: FromHost<RunRow> | undefined,
): string | undefined {
  if (run === undefined) return undefined
  for (const { id, state, at, question } of inbox?.values() ?? []) {
    const { caller, conversation } = question.cause
    const isOfPerson = conversation === undefined && (caller === undefined || caller === 'person')
    // No call waits until its user accepts changed definitions.
    const isOfRun = isOfPerson && question.kind !== 'drift' && at >= run.at
    if (state === 'open' && question.cause.server === server && isOfRun) return id
  }
  return undefined
}

function storedIds(name: string): readonly string[] {
  try {
    const stored: unknown = JSON.parse(sessionStorage.getItem(name) ?? '[]')
    return Array.isArray(stored) ? stored.filter((entry) => typeof entry === 'string') : []
  } catch {
    return []
  }
}
