import type { Run, RunRequest, RunRow } from '@jackfield/host/client'
import { useCallback, useEffect, useRef, useState } from 'react'
import { useAct, useHost, useTopic } from '../data/host.tsx'
import type { Wire } from '../text/foreign-type.ts'

export interface InspectorRun {
  /** The run as it goes. */
  readonly row: Wire<RunRow> | undefined
  /** The run with its result, once it is over. */
  readonly run: Run | undefined
  /** The one before, to compare with. */
  readonly previous: Run | undefined
  readonly isRunning: boolean
  readonly error: Error | undefined
  start(request: RunRequest): void
  stop(): void
}

/**
 * The last runs of one thing. The host knows them by their ids, which outlive a reload and a visit of another screen;
 * `key` names the thing.
 */
export function useRun(key: string): InspectorRun {
  const name = `jackfield.runs.${key}`
  const { client } = useHost()
  const [ids, setIds] = useState<readonly string[]>(() => storedIds(name))
  const [runs, setRuns] = useState<ReadonlyMap<string, Run>>(new Map())
  const topic = useTopic('runs')
  const [id = '', before = ''] = ids
  const row = topic?.get(id)
  const state = row?.state
  const asked = useRef(new Set<string>())
  const remember = useCallback(
    (next: readonly string[]): void => {
      sessionStorage.setItem(name, JSON.stringify(next))
      setIds(next)
    },
    [name],
  )
  useEffect(() => {
    for (const one of [id, before]) {
      const isOver = one !== id || (state !== undefined && state !== 'running')
      if (one === '' || !isOver || asked.current.has(one)) continue
      asked.current.add(one)
      client.call('runs.get', { id: one }).then(
        (run) => setRuns((known) => new Map(known).set(one, run)),
        () => {},
      )
    }
  }, [client, id, before, state])
  const act = useAct(
    useCallback(
      async (request: RunRequest) => {
        const started = await client.call('runs.start', { request })
        setIds((known) => {
          const next = [started, ...known].slice(0, 2)
          sessionStorage.setItem(name, JSON.stringify(next))
          return next
        })
      },
      [client, name],
    ),
  )
  // A host that was started anew does not know them.
  useEffect(() => {
    if (topic !== undefined && id !== '' && row === undefined && !act.isRunning) {
      const timer = setTimeout(() => remember([]), 1_000)
      return () => clearTimeout(timer)
    }
  }, [topic, id, row, act.isRunning, remember])
  return {
    row,
    run: state === 'running' ? undefined : runs.get(id),
    previous: runs.get(before),
    isRunning: act.isRunning || state === 'running',
    error: act.error,
    start: (request) => void act.run(request),
    stop: () => void client.call('runs.stop', { id }),
  }
}

function storedIds(name: string): readonly string[] {
  try {
    const stored: unknown = JSON.parse(sessionStorage.getItem(name) ?? '[]')
    return Array.isArray(stored) ? stored.filter((one) => typeof one === 'string') : []
  } catch {
    return []
  }
}
