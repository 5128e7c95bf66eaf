import type { AnswerHandlers, ConnectOptions } from '@jackfield/sdk/client'
import { type Client, connect } from '@jackfield/sdk/client'
import { createTravelServer, type TravelOptions, type TravelServer } from '@jackfield/server-travel'
import { onTestFinished } from 'vitest'

/** Both eras: every behaviour is the same in each. */
export const eras = ['2025-11-25', '2026-07-28'] as const
export type Era = (typeof eras)[number]

export const today = '2027-03-01'

export type Question = Parameters<NonNullable<AnswerHandlers['onElicit']>>[0]

/** A travel server with an empty database of its own, at noon on `today`. */
export function travelServer(options: Partial<TravelOptions> = {}): TravelServer {
  return createTravelServer({ database: ':memory:', now: () => new Date(`${today}T12:00:00Z`), ...options })
}

/** A client of a travel server, closed when the test ends. */
export async function clientOf(
  era: Era,
  options: ConnectOptions = {},
  server: TravelServer = travelServer(),
): Promise<Client<TravelServer>> {
  const client = await connect(server, { revisions: [era], ...options })
  onTestFinished(() => client.close())
  return client
}

/** Answers every form with those of the values that it has a field for. */
export function filling(
  content: Record<string, string | boolean>,
  asked: Question[] = [],
): Required<Pick<ConnectOptions, 'onElicit'>> {
  return {
    onElicit: (question) => {
      asked.push(question)
      const fields = question.mode === 'url' ? {} : question.requestedSchema.properties
      return {
        action: 'accept',
        content: Object.fromEntries(Object.entries(content).filter(([name]) => Object.hasOwn(fields, name))),
      }
    },
  }
}

/** The text of a result. */
export function textOf(result: { content: readonly { type: string; text?: string }[] }): string {
  return result.content.flatMap(({ type, text }) => (type === 'text' ? [text ?? ''] : [])).join('\n')
}

/** The JSON that a resource holds. */
export async function readJson(client: Client<TravelServer>, uri: string): Promise<unknown> {
  const { contents } = await client.read(uri, { cache: 'bypass' })
  const [first] = contents
  if (first === undefined || !('text' in first)) throw new Error(`${uri} holds no text`)
  return JSON.parse(first.text)
}
