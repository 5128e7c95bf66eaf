import type { JsonObject } from '@jackfield/sdk'
import type { ConnectOptions } from '@jackfield/sdk/client'
import { isObject } from '../../../../test/setup/json.ts'
import { type Met, resultsOf, type Taken } from './played.ts'
import type { Ground } from './rule.ts'
import { at, part, type Said } from './transcript.ts'

export interface Question {
  readonly method: string
  readonly params: JsonObject
}

/** What became of a question that a server played by hand put to a client. */
export interface Outcome {
  /** The result the client gave, if it gave one. */
  readonly result: JsonObject | undefined
  /** The error it answered with: in sessions alone, as a question in a result is not answered then. */
  readonly error: JsonObject | undefined
  /** Why the call in which it was asked failed on the client's side, if it did. */
  readonly failure: unknown
}

/** A client that can be asked, in the way its revision has. */
export interface Interview extends Met {
  /** Puts one question in the course of a call. */
  ask(question: Question): Promise<Outcome>
}

export async function interview(ground: Ground, options: ConnectOptions): Promise<Interview> {
  const { called } = resultsOf(ground.version)
  let asking: Question = { method: '', params: {} }
  let answer: JsonObject = {}
  let finish = (): void => {}
  const inSession = ({ id, say }: Taken): undefined => {
    finish = () => say({ id, result: called('asked') })
    say({ id: `question of ${id}`, ...asking })
  }
  const inResult = ({ params: { inputResponses } }: Taken): JsonObject => {
    if (inputResponses === undefined) {
      return { resultType: 'input_required', inputRequests: { question: asking } }
    }
    answer = { result: at(inputResponses, 'question') }
    return called('asked')
  }
  const met = await ground.meet(
    {
      methods: { 'tools/call': ground.stateless ? inResult : inSession },
      other(value) {
        if (!String(at(value, 'id')).startsWith('question of')) return
        answer = part(value)
        finish()
      },
    },
    options,
  )
  return {
    ...met,
    async ask(question) {
      asking = question
      answer = {}
      const failure: unknown = await met.client.call('any').then(
        () => undefined,
        (error) => error,
      )
      const { result, error } = answer
      return {
        failure,
        result: isObject(result) ? result : undefined,
        error: isObject(error) ? error : undefined,
      }
    },
  }
}

/** Every question in a conversation: requests of the server, or what its results ask for. */
export function questionsIn(said: Iterable<Said>): Question[] {
  return [...said].flatMap(({ by, message }) => {
    if (by === 'client') return []
    const found =
      'method' in message && 'id' in message
        ? [message]
        : Object.values(part(message, 'result', 'inputRequests'))
    return found.flatMap((one) => {
      const method = at(one, 'method')
      return typeof method === 'string' && method !== 'ping' ? [{ method, params: part(one, 'params') }] : []
    })
  })
}
