import type { JsonObject } from '@jackfield/sdk'
import type { ConnectOptions } from '@jackfield/sdk/client'
import { isObject } from '../../../../test/setup/json.ts'
import type { MatrixCell } from './rule.ts'
import { resultsOf, type ScriptedConnection, type ScriptedRequest } from './scripted-server.ts'
import { at, part, type RecordedMessage } from './transcript.ts'

export interface Question {
  readonly method: string
  readonly params: JsonObject
}

/** The outcome of a question that a scripted server sent to a client. */
export interface Outcome {
  /** The result the client gave, if it gave one. */
  readonly result: JsonObject | undefined
  /** The error it answered with, in sessions only: a question in a result is not answered then. */
  readonly error: JsonObject | undefined
  /** Why the call in which it was asked failed on the client's side, if it did. */
  readonly failure: unknown
}

/** A client of a scripted server that sends it questions, in the form of its revision. */
export interface QuestionedClient extends ScriptedConnection {
  /** Sends one question during a call. */
  ask(question: Question): Promise<Outcome>
}

export async function questionedClient(cell: MatrixCell, options: ConnectOptions): Promise<QuestionedClient> {
  const { called } = resultsOf(cell.version)
  let asking: Question = { method: '', params: {} }
  let answer: JsonObject = {}
  let finish = (): void => {}
  const inSession = ({ id, send }: ScriptedRequest): undefined => {
    finish = () => send({ id, result: called('asked') })
    send({ id: `question of ${id}`, ...asking })
  }
  const inResult = ({ params: { inputResponses } }: ScriptedRequest): JsonObject => {
    if (inputResponses === undefined) {
      return { resultType: 'input_required', inputRequests: { question: asking } }
    }
    answer = { result: at(inputResponses, 'question') }
    return called('asked')
  }
  const connected = await cell.connectToScript(
    {
      methods: { 'tools/call': cell.stateless ? inResult : inSession },
      other(value) {
        if (!String(at(value, 'id')).startsWith('question of')) return
        answer = part(value)
        finish()
      },
    },
    options,
  )
  return {
    ...connected,
    async ask(question) {
      asking = question
      answer = {}
      const failure: unknown = await connected.client.call('any').then(
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

/** Every question among messages: requests of the server, or the input requests of its results. */
export function questionsIn(recorded: Iterable<RecordedMessage>): Question[] {
  return [...recorded].flatMap(({ by, message }) => {
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
