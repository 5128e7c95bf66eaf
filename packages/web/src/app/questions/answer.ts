import type { HostAnswers, QuestionKind } from '@jackfield/host/browser'
import type { InboxRow } from '@jackfield/host/client'
import { useCallback, useState } from 'react'
import { asError, useHost } from '../data/host.tsx'
import type { FromHost } from '../text/untrusted-text.ts'

export type Row = FromHost<InboxRow>
export type QuestionOf<K extends QuestionKind> = Extract<Row['question'], { kind: K }>

export interface Answering<K extends QuestionKind> {
  readonly state: 'open' | 'sending' | 'unknown'
  readonly error: Error | undefined
  send(answer: HostAnswers[K]): void
}

/**
 * Sends the answer to one question. Without a connection nothing is sent or queued. If the connection ends before the host
 * confirms, the call is aborted and the state is `unknown` until the row says whether it was answered.
 */
export function useAnswer<K extends QuestionKind>({ id, digest }: Row): Answering<K> {
  const host = useHost()
  const [sent, setSent] = useState<{ state: Answering<K>['state']; digest: string; error?: Error }>()
  const send = useCallback(
    (answer: HostAnswers[K]): void => {
      if (host.client.state.state !== 'connected') {
        setSent({ state: 'open', digest, error: new Error('offline') })
        return
      }
      const abort = new AbortController()
      const unsubscribe = host.onState(() => abort.abort())
      setSent({ state: 'sending', digest })
      host.client
        .call('inbox.answer', { id, answer, seen: digest }, { signal: abort.signal })
        .then(
          () => {},
          (reason: unknown) => {
            const error = asError(reason)
            setSent({ state: abort.signal.aborted ? 'unknown' : 'open', digest, error })
          },
        )
        .finally(unsubscribe)
    },
    [host, id, digest],
  )
  const isCurrent = sent?.digest === digest
  return { state: isCurrent ? sent.state : 'open', error: isCurrent ? sent.error : undefined, send }
}

/** A draft in the session storage, which survives navigation and reload. Not for values that look like secrets. */
export function useDraft<T>(
  key: string,
  first: T,
  isDraft: (value: unknown) => value is T,
): [T, (value: T) => void, () => void] {
  const name = `jackfield.draft.${key}`
  const read = (): { name: string; value: T } => {
    try {
      const stored: unknown = JSON.parse(sessionStorage.getItem(name) ?? 'null')
      return { name, value: isDraft(stored) ? stored : first }
    } catch {
      return { name, value: first }
    }
  }
  const [state, setState] = useState(read)
  const draft = state.name === name ? state : read()
  if (draft !== state) setState(draft)
  const save = useCallback(
    (next: T) => {
      setState({ name, value: next })
      try {
        sessionStorage.setItem(name, JSON.stringify(next))
      } catch {
        // The storage is full: the draft then lives as long as the page.
      }
    },
    [name],
  )
  return [draft.value, save, () => sessionStorage.removeItem(name)]
}

export const isText = (value: unknown): value is string => typeof value === 'string'

/** A set with or without an item, as its checkbox says. */
export function toggleIn<T>(set: ReadonlySet<T>, item: T, isOn: boolean): ReadonlySet<T> {
  const next = new Set(set)
  if (isOn) next.add(item)
  else next.delete(item)
  return next
}
