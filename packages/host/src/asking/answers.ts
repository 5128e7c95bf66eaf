import type { AnswerOptions } from '@jackfield/sdk/client'
import type { AskingDeps } from './deps.ts'
import { elicitation } from './elicitation.ts'
import { roots } from './roots.ts'

/** What one server's questions are answered with. */
export interface ServerAnswers {
  /** As the faces of the moment can show them: only what a face can show is there, so only that is advertised. */
  now(): AnswerOptions
  /** Whatever the faces are: for questions of parked calls, which may have been answered elsewhere. */
  parked(): AnswerOptions
}

type Handler<K extends 'onElicit' | 'onSample' | 'onRoots'> = Extract<
  AnswerOptions[K],
  (...given: never[]) => unknown
>

export function answersFor(server: string, deps: AskingDeps): ServerAnswers {
  const { asker, sampling } = deps
  const elicit = elicitation(server, deps)
  const tell = roots(server, deps)
  const onElicit: Handler<'onElicit'> = (params, context) => deps.track(() => elicit(params, context))
  const onRoots: Handler<'onRoots'> = (context) => deps.track(() => tell(context))
  const onSample: Handler<'onSample'> = (params, context) =>
    deps.track(() => sampling.answer(server, params, context))
  return {
    now: () => ({
      ...(asker.can('elicitation') && { onElicit, elicitation: { form: true, url: asker.urls } }),
      ...(sampling.canAnswer(server) && { onSample, sampling: { tools: true, context: true } }),
      ...(asker.can('roots') && deps.roots.length > 0 && { onRoots }),
    }),
    parked: () => ({ onElicit, elicitation: { form: true, url: true }, onRoots }),
  }
}
