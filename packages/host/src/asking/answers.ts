import type { ConnectOptions } from '@jackfield/sdk/client'
import type { AskingDeps } from './deps.ts'
import { elicitation } from './elicitation.ts'
import { roots } from './roots.ts'
import { sampling } from './sampling.ts'

/** The handlers for one server's questions. Only what the surface can show is there, so only that is advertised. */
export function answersFor(
  server: string,
  deps: AskingDeps,
): Pick<ConnectOptions, 'onElicit' | 'elicitation' | 'onSample' | 'sampling' | 'onRoots'> {
  const { surface } = deps
  const [first, ...others] = deps.models
  const answers: ReturnType<typeof answersFor> = {}
  if (surface.elicitation !== undefined) {
    answers.onElicit = elicitation(server, surface.elicitation.bind(surface), deps)
    answers.elicitation = { form: true, url: surface.urlElicitation === true }
  }
  if (surface.samplingRequest !== undefined && surface.samplingResult !== undefined && first !== undefined) {
    const review = {
      request: surface.samplingRequest.bind(surface),
      result: surface.samplingResult.bind(surface),
    }
    answers.onSample = sampling(server, [first, ...others], review, deps)
    answers.sampling = { tools: true, context: false }
  }
  if (surface.roots !== undefined && deps.roots.length > 0) {
    answers.onRoots = roots(server, surface.roots.bind(surface), deps)
  }
  return answers
}
