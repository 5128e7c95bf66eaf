import type { AnswerOptions, AskContext } from '@jackfield/sdk/client'
import { StoreError } from '../../log/store/store-error.ts'
import { oneLine } from '../../shared/text.ts'
import { Visits } from '../forms/visits.ts'
import type { AskingDeps } from './deps.ts'
import { elicitation } from './elicitation.ts'
import { wantedVisits } from './wanted-visits.ts'

/** What one server's questions are answered with. */
export interface ServerAnswers {
  /** As the faces of the moment can show them: only what a face can show is there, so only that is advertised. */
  now(): AnswerOptions
  /** Whatever the faces are: for questions of parked calls, which may have been answered elsewhere. */
  parked(): AnswerOptions
  /** The server says that a visit is over. */
  visited(id: string): void
  /**
   * Puts the visits that a failed request wants first; true where the person made them all, so that it can be tried
   * again.
   */
  visitFirst(error: unknown, context: AskContext): Promise<boolean>
}

type Handler<K extends 'onElicit' | 'onSample' | 'onRoots'> = Extract<
  AnswerOptions[K],
  (...given: never[]) => unknown
>

export function answersFor(server: string, deps: AskingDeps): ServerAnswers {
  const { asker, sampling, roots } = deps
  const visits = new Visits()
  const elicit = elicitation(server, deps, visits)
  /** The server gets an error for a question that cannot be recorded; only the person can do something about it. */
  const track = <T>(work: () => Promise<T>): Promise<T> =>
    deps.track(work).catch((error: unknown) => {
      if (error instanceof StoreError)
        deps.warn(`A question of ${oneLine(server)} was refused. ${error.message}`)
      throw error
    })
  const onElicit: Handler<'onElicit'> = (params, context) => track(() => elicit(params, context))
  const onRoots: Handler<'onRoots'> = (context) => track(() => roots.answer(server, context))
  const onSample: Handler<'onSample'> = (params, context) =>
    track(() => sampling.answer(server, params, context))
  return {
    now: () => ({
      ...(asker.can('elicitation') && { onElicit, elicitation: { form: true, url: asker.urls } }),
      ...(sampling.canAnswer(server) && { onSample, sampling: { tools: true, context: true } }),
      ...(roots.canAnswer(server) && { onRoots }),
    }),
    parked: () => ({ onElicit, elicitation: { form: true, url: true }, onRoots }),
    visited: (id) => visits.finished(id),
    visitFirst: async (error, context) => {
      const wanted = asker.urls ? wantedVisits(error) : []
      // Where they cannot be put, the request has failed for the reason that the server gave.
      const answers = await Promise.all(wanted.map((params) => onElicit(params, context))).catch(() => [])
      return answers.length > 0 && answers.every(({ action }) => action === 'accept')
    },
  }
}
