import type { AnswerHandlers, ConnectOptions } from '@jackfield/sdk/client'
import { describe, expect, test } from 'vitest'
import { findPlace } from '../../src/domain/places.ts'
import { type FlightOption, searchOptions } from '../../src/domain/schedule.ts'
import { readRecommendations } from '../../src/tools/recommendations.ts'
import { clientOf, eras, textOf } from '../fixture.ts'

type Request = Parameters<NonNullable<AnswerHandlers['onSample']>>[0]

const route = { origin: 'NYC', destination: 'Barcelona', date: '2027-06-15' }
const options = optionsOf('NYC', 'Barcelona', route.date)

function optionsOf(from: string, to: string, date: string): FlightOption[] {
  const origin = findPlace(from)
  const destination = findPlace(to)
  return origin && destination ? searchOptions(origin, destination, date) : []
}

function id(index: number): string {
  return options[index]?.id ?? ''
}

function answering(text: string, requests: Request[] = []): ConnectOptions {
  return {
    onSample: (request) => {
      requests.push(request)
      return {
        role: 'assistant',
        model: 'test-model',
        content: { type: 'text', text },
        stopReason: 'endTurn',
      }
    },
  }
}

describe.each(eras)('findBestFlight on %s', (era) => {
  test("requests a sample of the client's model as the documentation does, with every option in the prompt", async () => {
    const requests: Request[] = []
    const client = await clientOf(
      era,
      answering(`{"recommendations":[{"id":"${id(4)}","reason":"Best."}]}`, requests),
    )
    await client.call('findBestFlight', { ...route, preferences: 'morning departure, max 1 layover' })
    expect(requests).toHaveLength(1)
    const [request] = requests
    expect(request).toMatchObject({
      modelPreferences: {
        hints: [{ name: 'claude-sonnet-4-20250514' }],
        costPriority: 0.3,
        speedPriority: 0.2,
        intelligencePriority: 0.9,
      },
      systemPrompt: 'You are a travel expert helping users find the best flights based on their preferences',
      maxTokens: 1500,
    })
    const prompt = JSON.stringify(request?.messages)
    expect(prompt).toContain('Analyze these flight options and recommend the best choice:')
    expect(prompt).toContain('User preferences: morning departure, max 1 layover')
    for (const option of options) expect(prompt).toContain(option.id)
  })

  test('returns the three flights that the model chose, with its reasons', async () => {
    const answer = {
      recommendations: [id(7), id(3), id(20)].map((name, i) => ({ id: name, reason: `Reason ${i}.` })),
    }
    const client = await clientOf(
      era,
      answering(`Here you are:\n\`\`\`json\n${JSON.stringify(answer)}\n\`\`\``),
    )
    const result = await client.call('findBestFlight', route)
    expect(result.structuredContent).toMatchObject({
      considered: options.length,
      decidedBy: 'model',
      model: 'test-model',
      recommendations: [
        { rank: 1, chosenBy: 'model', reason: 'Reason 0.', option: { id: id(7) } },
        { rank: 2, chosenBy: 'model', reason: 'Reason 1.', option: { id: id(3) } },
        { rank: 3, chosenBy: 'model', reason: 'Reason 2.', option: { id: id(20) } },
      ],
    })
    expect(textOf(result)).toContain('chosen by the model test-model')
  })

  test('leaves out flights that the model invented, and marks computed ones', async () => {
    const client = await clientOf(
      era,
      answering(
        JSON.stringify([
          { id: 'ZZ999@2027-06-15', reason: 'Cheap!' },
          { id: id(5), reason: 'Real.' },
        ]),
      ),
    )
    const result = await client.call('findBestFlight', route)
    const { recommendations, note } = result.structuredContent ?? {}
    expect(recommendations?.map(({ chosenBy }) => chosenBy)).toEqual(['model', 'score', 'score'])
    expect(recommendations?.[0]?.option.id).toBe(id(5))
    expect(note).toContain('computed')
    expect(textOf(result)).not.toContain('ZZ999')
  })

  test('ranks by score, with a note, when the model names no flight', async () => {
    const client = await clientOf(era, answering('I would rather not say.'))
    const result = await client.call('findBestFlight', route)
    expect(result.structuredContent?.decidedBy).toBe('score')
    expect(result.structuredContent?.recommendations).toHaveLength(3)
    expect(textOf(result)).toContain('computed without a model')
  })

  test('ranks by score, with a note, when there is no model', async () => {
    const client = await clientOf(era)
    const result = await client.call('findBestFlight', route)
    expect(result.isError).toBeFalsy()
    expect(result.structuredContent?.decidedBy).toBe('score')
    const ranked = result.structuredContent?.recommendations.map(({ option }) => option.id) ?? []
    expect(new Set(ranked).size).toBe(3)
    expect(textOf(result)).toContain('computed without a model')
    expect(textOf(result)).toContain('sampling')
  })
})

describe('an answer of a model', () => {
  test.each([
    ['plain JSON', () => `{"recommendations":[{"id":"${id(1)}","reason":"r"}]}`],
    ['an array', () => `[{"id":"${id(1)}","reason":"r"}]`],
    ['one object', () => `{"id":"${id(1)}","reason":"r"}`],
    ['JSON in words', () => `Sure {thinking}: [{"option":"${id(1)}","why":"r"}] — enjoy!`],
    ['an id without its date', () => `[{"id":"${id(1).split('@')[0]}","reason":"r"}]`],
    [
      'flight numbers in other clothes',
      () => `[{"flight":"${id(1).split('@')[0]?.replace('+', ' / ')}","reason":"r"}]`,
    ],
    ['a number in the list', () => '[{"option":2,"reason":"r"}]'],
  ])('is read as %s', (_form, answer) => {
    expect(readRecommendations(answer(), options)).toEqual([{ option: options[1], reason: 'r' }])
  })

  test('is parsed from words that name options, in their order', () => {
    const found = readRecommendations(`First ${id(9)}, then ${id(2)}.`, options)
    expect(found.map(({ option }) => option.id)).toEqual([id(9), id(2)])
  })

  test('contains an option once', () => {
    expect(readRecommendations(JSON.stringify([id(1), id(1)]), options)).toHaveLength(1)
  })

  test.each([
    '',
    '[',
    '{"a":',
    '[[[[[[',
    '{}',
    'null',
    '"\\',
    '[1e999, -1, 0, 99999, null, {}]',
    '['.repeat(10_000),
  ])('that is invalid returns nothing: %#', (text) => {
    expect(readRecommendations(text, options)).toEqual([])
  })
})
