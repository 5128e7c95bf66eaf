import type { ConnectOptions } from '@jackfield/sdk/client'
import type { AskingDeps } from './deps.ts'
import { elicitation } from './elicitation.ts'
import { roots } from './roots.ts'
import { sampling } from './sampling.ts'

/** The handlers for one server's questions. Only what a face can show is there, so only that is advertised. */
export function answersFor(
  server: string,
  deps: AskingDeps,
): Pick<ConnectOptions, 'onElicit' | 'elicitation' | 'onSample' | 'sampling' | 'onRoots'> {
  const { asker } = deps
  const [first, ...others] = deps.models
  const answers: ReturnType<typeof answersFor> = {}
  if (asker.can('elicitation')) {
    answers.onElicit = elicitation(server, deps)
    answers.elicitation = { form: true, url: asker.urls }
  }
  if (asker.can('sampling-request') && asker.can('sampling-result') && first !== undefined) {
    answers.onSample = sampling(server, [first, ...others], deps)
    answers.sampling = { tools: true, context: false }
  }
  if (asker.can('roots') && deps.roots.length > 0) {
    answers.onRoots = roots(server, deps)
  }
  return answers
}
