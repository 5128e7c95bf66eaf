import type { ElicitParams, ElicitResult } from '@jackfield/sdk'
import type { AnswerOptions } from '@jackfield/sdk/client'
import { marksIn, putBack } from '../../config/secrets/marks.ts'
import type { Redactor } from '../../config/secrets/redactor.ts'
import { secretFields } from '../forms/withheld.ts'
import type { ServerAnswers } from './answers.ts'

/**
 * The same answers, where no secret comes along with a question: a server may quote one that it was given. What a
 * person types into a field for a secret is a secret from then on.
 */
export function discreetly(answers: ServerAnswers, redactor: Redactor): ServerAnswers {
  const discreet = (given: AnswerOptions): AnswerOptions => {
    const { onElicit, onSample } = given
    return {
      ...given,
      ...(typeof onElicit === 'function' && {
        onElicit: async (params, context) => {
          const shown = redactor.value(params)
          const answer = await onElicit(shown, context)
          const whole = shown === params ? answer : withSecrets(answer, params, redactor)
          learn(whole, params, redactor)
          return whole
        },
      }),
      ...(typeof onSample === 'function' && {
        onSample: (params, context) => onSample(redactor.value(params), context),
      }),
    }
  }
  return { ...answers, now: () => discreet(answers.now()), parked: () => discreet(answers.parked()) }
}

/** What the server itself wrote into its form goes back to it as it was. */
function withSecrets(answer: ElicitResult, params: ElicitParams, redactor: Redactor): ElicitResult {
  const { content } = answer
  return content === undefined ? answer : { ...answer, content: putBack(content, marksIn(params, redactor)) }
}

function learn({ content = {} }: ElicitResult, params: ElicitParams, redactor: Redactor): void {
  const secret = secretFields(params)
  for (const [key, value] of Object.entries(content)) {
    if (!secret.has(key) || (typeof value !== 'string' && typeof value !== 'number')) continue
    redactor.addMember(key, value)
    redactor.add(String(value), key)
  }
}
