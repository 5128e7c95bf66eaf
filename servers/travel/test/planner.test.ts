import type { ModelReply, ModelRequest } from '@jackfield/host'
import type { SamplingMessage, ToolUseContent } from '@jackfield/sdk'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { cpuMsOf } from '../../../test/setup/cpu.ts'
import { offlineModel } from '../src/planner/model.ts'
import { readTrip } from '../src/planner/trip.ts'

beforeEach(() => {
  vi.useFakeTimers({ now: new Date('2026-11-21T12:00:00Z') })
})
afterEach(() => {
  vi.useRealTimers()
})

const sign = '[offline planner — not a language model]'

function ask(text: string, more: Partial<ModelRequest> = {}): Promise<ModelReply> {
  return offlineModel.generate({
    messages: [{ role: 'user', content: { type: 'text', text } }],
    maxTokens: 2_000,
    ...more,
  })
}

function textOf(reply: ModelReply): string {
  const blocks = Array.isArray(reply.content) ? reply.content : [reply.content]
  return blocks.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n')
}

function usesOf(reply: ModelReply): ToolUseContent[] {
  const blocks = Array.isArray(reply.content) ? reply.content : [reply.content]
  return blocks.filter((block) => block.type === 'tool_use')
}

describe("parsing a user's trip", () => {
  const today = new Date('2026-11-21T12:00:00Z')
  test.each([
    [
      'Plan a trip from New York to Barcelona from June 15 to June 22, 2027, budget $3,000. I like beaches and food.',
      {
        destination: 'Barcelona',
        origin: 'New York',
        start: '2027-06-15',
        end: '2027-06-22',
        days: 7,
        budget: 3000,
        interests: ['beaches', 'food'],
      },
    ],
    [
      'plan a week in barcelona next month from nyc for two people under 2500 usd',
      {
        destination: 'barcelona',
        origin: 'nyc',
        start: '2026-12-15',
        end: '2026-12-22',
        budget: 2500,
        travelers: 2,
      },
    ],
    [
      'Book the best flight to Barcelona (BCN). Morning departure, max 1 layover.',
      { destination: 'Barcelona (BCN)', preferences: ['morning departure', 'max 1 layover'] },
    ],
    [
      'I want to fly from San Francisco to Rio de Janeiro on 15-22 June 2027',
      { origin: 'San Francisco', destination: 'Rio de Janeiro', end: '2027-06-22' },
    ],
    [
      'Destination: Barcelona\nDuration: 7 days\nBudget: $3k',
      { destination: 'Barcelona', days: 7, budget: 3000 },
    ],
    ['from 3rd of May for 10 days', { start: '2027-05-03', end: '2027-05-13' }],
    ['on December 1', { start: '2026-12-01' }],
    ['tomorrow, over the weekend', { start: '2026-11-22', end: '2026-11-25' }],
    ['from 2027-02-30', { start: undefined }],
    ['write to team@work.com and boss@work.com', { emails: ['team@work.com', 'boss@work.com'] }],
    [
      'Plan a vacation in Barcelona (BCN) with me: from 2027-06-15 to 2027-06-22; interested in beaches and food.\n4. Use searchFlights, from NYC unless I say otherwise.',
      {
        destination: 'Barcelona (BCN)',
        origin: 'NYC',
        start: '2027-06-15',
        end: '2027-06-22',
        interests: ['beaches', 'food'],
      },
    ],
    ['Hello, what can you do?', { destination: undefined, origin: undefined, start: undefined, book: false }],
  ])('%s', (text, expected) => {
    expect(readTrip([text], today)).toMatchObject(expected)
  })

  // Saturday, 21 November 2026.
  test.each<[text: string, start: string | undefined, end?: string]>([
    ['to Rome tomorrow', '2026-11-22'],
    ['to Rome the day after tomorrow', '2026-11-23'],
    ['to Rome today', '2026-11-21'],
    ['to Rome on Friday', '2026-11-27'],
    ['to Rome this Sunday', '2026-11-22'],
    ['to Rome next Friday', '2026-11-27'],
    ['to Rome next Sunday', '2026-11-29'],
    ['to Rome on Sat', '2026-11-28'],
    ['to Rome in two weeks', '2026-12-05'],
    ['to Rome in 10 days', '2026-12-01'],
    ['to Rome in a month', '2026-12-21'],
    ['to Rome three weeks from now', '2026-12-12'],
    ['to Rome in two weeks for three days', '2026-12-05', '2026-12-08'],
    ['a week in Rome in two weeks', '2026-12-05', '2026-12-12'],
    ['to Rome next week', '2026-11-23'],
    ['to Rome next month', '2026-12-15'],
    ['to Rome early next month', '2026-12-05'],
    ['to Rome next weekend', '2026-11-27', '2026-11-30'],
    ['to Rome in June', '2027-06-15'],
    ['to Rome at the end of May', '2027-05-25'],
    ['to Rome on the 15th', '2026-12-15'],
    ['to Rome on 2027-06-15', '2027-06-15'],
    ['to Rome from 2027-06-15 to 2027-06-20', '2027-06-15', '2027-06-20'],
    ['to Rome on 15.06.2027', '2027-06-15'],
    ['to Rome on 06/15/2027', '2027-06-15'],
    ['to Rome on 15/06/2027', '2027-06-15'],
    ['to Rome from next Friday to Sunday', '2026-11-27', '2026-11-29'],
    ['to Rome on Monday, back on Thursday', '2026-11-23', '2026-11-26'],
    ['to Rome tomorrow, returning on Friday', '2026-11-22', '2026-11-27'],
    ['to Rome for the sun and the beaches', undefined],
    ['may I fly to Rome?', undefined],
  ])('%s is from %s', (text, start, end) => {
    expect(readTrip([text], today)).toMatchObject({ destination: 'Rome', start, end })
  })

  test('on a Monday, "next Friday" is in the following week, and the assumption is stated', () => {
    const monday = new Date('2026-11-23T00:00:00Z')
    expect(readTrip(['to Rome next Friday'], monday)).toMatchObject({
      start: '2026-12-04',
      assumed: ['"next Friday" means 2026-12-04'],
    })
    expect(readTrip(['to Rome on Friday'], monday).start).toBe('2026-11-27')
    expect(readTrip(['to Rome on Monday'], monday).start).toBe('2026-11-30')
    expect(readTrip(['to Rome this Monday'], monday).start).toBe('2026-11-23')
  })

  test.each([
    'Flights Oslo to Rome next Friday',
    'Find flights from Oslo to Rome next Friday',
    'Oslo to Rome next Friday',
    'Fly me from Oslo to Rome next Friday, please',
    'I want to go to Rome from Oslo next Friday',
    'Show me flights to Rome next Friday leaving from Oslo',
    'get me to rome from oslo next friday',
  ])('%s contains both places and the day', (text) => {
    const { origin, destination, start } = readTrip([text], today)
    expect([origin?.toLowerCase(), destination?.toLowerCase(), start]).toEqual(['oslo', 'rome', '2026-11-27'])
  })

  test('the answer to a question may be only a place, a duration, or the day of return', () => {
    const first = 'book the best flight to Barcelona next month'
    expect(readTrip([first], today)).toMatchObject({
      destination: 'Barcelona',
      origin: undefined,
      start: '2026-12-15',
      end: undefined,
      book: true,
    })
    expect(readTrip([first, 'New York', '5 days'], today)).toMatchObject({
      origin: 'New York',
      end: '2026-12-20',
    })
    expect(readTrip([first, 'from oslo', 'book it, back on 2026-12-18'], today)).toMatchObject({
      start: '2026-12-15',
      end: '2026-12-18',
    })
    expect(readTrip([first, 'yes please'], today).origin).toBeUndefined()
  })

  test('a later text overrides an earlier one', () => {
    expect(readTrip(['to Rome on 2027-05-01 for 3 days from Oslo', 'no, 5 days'], today)).toMatchObject({
      destination: 'Rome',
      origin: 'Oslo',
      days: 5,
      end: '2027-05-06',
    })
  })

  test('any text is parsed quickly and without errors', async () => {
    vi.useRealTimers()
    fc.assert(
      fc.property(fc.string({ maxLength: 5_000 }), (text) => {
        readTrip([text], today)
      }),
    )
    const pieces = ['from a to ', 'interests: a, ', '$1,', 'June 1 to ', 'to A ', '  ', 'a '.repeat(5)]
    const hard = (): void => {
      for (const piece of pieces) readTrip([piece.repeat(1_000).slice(0, 5_000)], today)
    }
    expect(await cpuMsOf(hard)).toBeLessThan(1_000)
  })
})

const properties = (...names: string[]) => ({
  type: 'object' as const,
  properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
})
const tools: NonNullable<ModelRequest['tools']> = [
  { name: 'read_resource', inputSchema: properties('server', 'uri') },
  { name: 'travel__searchFlights', inputSchema: properties('origin', 'destination', 'date') },
  { name: 'travel__findBestFlight', inputSchema: properties('origin', 'destination', 'date', 'preferences') },
  {
    name: 'travel__bookVacation',
    inputSchema: properties('destination', 'origin', 'departure', 'returnDate', 'budget', 'outboundFlight'),
  },
  {
    name: 'travel__createCalendarEvent',
    inputSchema: properties('title', 'startDate', 'endDate', 'location'),
  },
  { name: 'travel__saveItinerary', inputSchema: properties('booking', 'content') },
  { name: 'travel__sendEmail', inputSchema: properties('to', 'subject', 'body') },
  // Of another server: that of the travel server is used.
  { name: 'mail__sendEmail', inputSchema: properties('to', 'subject', 'body') },
]

/** What each tool gives; a text alone, or a text with structured content after it. */
const results: Record<string, { texts: string[]; isError?: true }> = {
  read_resource: { texts: ['[resource x]\n[]'] },
  travel__searchFlights: { texts: ['12 flight options'] },
  travel__findBestFlight: {
    texts: ['The best of 12', '{"recommendations":[{"reason":"Cheap.","option":{"id":"IB1@2027-06-15"}}]}'],
  },
  travel__bookVacation: {
    texts: [
      'Booked: Barcelona, reference TRV-1.\nTotal $2,000.',
      '{"status":"booked","booking":{"id":"TRV-1"}}',
    ],
  },
  travel__createCalendarEvent: { texts: ['Entered "Barcelona Trip" (ev-1).'] },
  travel__saveItinerary: { texts: ['Saved barcelona.md (900 bytes).'] },
  travel__sendEmail: { texts: ['Kept in the outbox.'] },
}

async function conversation(
  first: string,
  given = results,
  limit = 20,
): Promise<{ calls: ToolUseContent[]; replies: string[]; messages: SamplingMessage[] }> {
  const messages: SamplingMessage[] = [{ role: 'user', content: { type: 'text', text: first } }]
  return goOn(messages, given, limit)
}

async function goOn(
  messages: SamplingMessage[],
  given = results,
  limit = 20,
): Promise<{ calls: ToolUseContent[]; replies: string[]; messages: SamplingMessage[] }> {
  const calls: ToolUseContent[] = []
  const replies: string[] = []
  for (let turn = 0; turn < limit; turn += 1) {
    const reply = await offlineModel.generate({ messages, tools, maxTokens: 2_000 })
    replies.push(textOf(reply))
    messages.push({ role: 'assistant', content: reply.content })
    const uses = usesOf(reply)
    if (uses.length === 0) return { calls, replies, messages }
    calls.push(...uses)
    messages.push({
      role: 'user',
      content: uses.map((use) => ({
        type: 'tool_result',
        toolUseId: use.id,
        content: (given[use.name]?.texts ?? []).map((text) => ({ type: 'text', text })),
        isError: given[use.name]?.isError === true,
      })),
    })
  }
  throw new Error(`the planner did not end: ${calls.map((call) => call.name).join(', ')}`)
}

describe('a trip', () => {
  const wish =
    'Plan a trip from New York to Barcelona on 2027-06-15 for 7 days, budget $3000, morning departure. I like food. Write to team@work.com.'

  test('is planned step by step to its end, and every text names its source', async () => {
    const { calls, replies } = await conversation(wish)
    expect(calls.map(({ name, input }) => [name, input])).toEqual([
      ['read_resource', { server: 'travel', uri: 'calendar://events/2027' }],
      ['read_resource', { server: 'travel', uri: 'weather://forecast/Barcelona/2027-06-15' }],
      ['travel__searchFlights', { origin: 'New York', destination: 'Barcelona', date: '2027-06-15' }],
      [
        'travel__findBestFlight',
        {
          origin: 'New York',
          destination: 'Barcelona',
          date: '2027-06-15',
          preferences: 'morning departure',
        },
      ],
      [
        'travel__bookVacation',
        {
          destination: 'Barcelona',
          origin: 'New York',
          departure: '2027-06-15',
          returnDate: '2027-06-22',
          budget: 3000,
          outboundFlight: 'IB1@2027-06-15',
        },
      ],
      [
        'travel__createCalendarEvent',
        { title: 'Barcelona Trip', startDate: '2027-06-15', endDate: '2027-06-22', location: 'Barcelona' },
      ],
      ['travel__saveItinerary', { booking: 'TRV-1', content: 'Interests: food.' }],
      ['travel__sendEmail', expect.objectContaining({ to: 'team@work.com' })],
    ])
    expect(new Set(calls.map((call) => call.id)).size).toBe(calls.length)
    expect(replies[0]?.startsWith(sign) && replies.at(-1)?.startsWith(sign)).toBe(true)
    expect(replies.every((text) => text.startsWith('[offline planner'))).toBe(true)
    expect(replies.at(-1)).toContain('Booked: Barcelona, reference TRV-1.')
    expect(replies.at(-1)).toContain('Itinerary: Saved barcelona.md')
  })

  test('starts with questions about missing data', async () => {
    const { calls, replies, messages } = await conversation('Plan a vacation in Barcelona')
    expect(calls).toEqual([])
    expect(replies[0]).toContain('where you leave from, and on which date')
    messages.push({ role: 'user', content: { type: 'text', text: 'from Oslo on 2027-06-15 for a week' } })
    const more = await goOn(messages)
    expect(more.calls.map((call) => call.name)).toContain('travel__bookVacation')
  })

  test('asks for missing data with the understood date, and accepts a short answer', async () => {
    const { replies, messages } = await conversation('book the best flight to Barcelona next month')
    expect(replies[0]).toContain('A trip to Barcelona on 2026-12-15 ("next month" means 2026-12-15).')
    expect(replies[0]).toContain('where you leave from, and for how many days')
    messages.push({ role: 'user', content: { type: 'text', text: 'New York' } })
    const second = await goOn(messages)
    expect(second.replies[0]).toContain('Please tell me for how many days.')
    messages.push({ role: 'user', content: { type: 'text', text: 'a week' } })
    const { calls } = await goOn(messages)
    expect(calls.find(({ name }) => name === 'travel__bookVacation')?.input).toMatchObject({
      origin: 'New York',
      departure: '2026-12-15',
      returnDate: '2026-12-22',
    })
  })

  test('in the past is not searched', async () => {
    const { calls, replies } = await conversation('Show me flights from Oslo to Rome on 2020-06-15')
    expect(calls).toEqual([])
    expect(replies[0]).toContain('2020-06-15 is in the past; today is 2026-11-21')
  })

  test('shows nothing that was written for a model', async () => {
    const forModel = [
      '12 flight options. Call findBestFlight next. Prices are in USD.',
      '[cut: 100 of 9000 characters are shown here. Read more of it with read_result, id "7".]',
      'It is JSON: .options: list of 12.',
      '{"options":[]}',
      '<untrusted>',
      'Do not try it again or another way around it.',
    ]
    const given = {
      ...results,
      travel__searchFlights: { texts: forModel },
      travel__findBestFlight: {
        texts: ['x was not called: the person refused. Do not try it again.'],
        isError: true as const,
      },
    }
    const { replies } = await conversation('Show me flights from Oslo to Rome on 2027-06-15', given)
    const shown = replies.at(-1) ?? ''
    expect(shown).toContain('12 flight options. Prices are in USD.')
    for (const words of ['findBestFlight', '[cut', 'read_result', 'JSON', '{', '<', 'Do not try'])
      expect(shown).not.toContain(words)
    const failing = {
      ...results,
      travel__bookVacation: {
        texts: [
          'bookVacation of travel was not called: the person refused. Do not try it again or another way around it.',
        ],
        isError: true as const,
      },
    }
    const refused = await conversation(wish, failing)
    expect(refused.replies.at(-1)).toBe(`${sign} Nothing was booked.`)
  })

  test('ignores thanks', async () => {
    const { messages } = await conversation(wish)
    messages.push({ role: 'user', content: { type: 'text', text: 'Thank you very much!' } })
    const { calls, replies } = await goOn(messages)
    expect(calls).toEqual([])
    expect(replies[0]).toContain('You are welcome.')
  })

  test('ignores messages of the host to a model', async () => {
    const { calls, replies } = await goOn([
      {
        role: 'user',
        content: [
          {
            type: 'text',
            text: '[From Jackfield, not from the person] The call that waited is over. Its result:',
          },
          { type: 'text', text: 'Plan a trip from Oslo to Rome on 2027-06-15' },
        ],
      },
      { role: 'user', content: { type: 'text', text: 'hello' } },
    ])
    expect(calls).toEqual([])
    expect(replies[0]).toContain('Try:')
  })

  test('does not read attached resources again', async () => {
    const messages: SamplingMessage[] = [
      { role: 'user', content: { type: 'text', text: '[resource calendar://events/2027]\n[]' } },
      {
        role: 'user',
        content: { type: 'text', text: '[resource weather://forecast/Barcelona/2027-06-15]\n{}' },
      },
      { role: 'user', content: { type: 'text', text: wish } },
    ]
    const { calls } = await goOn(messages)
    expect(calls[0]?.name).toBe('travel__searchFlights')
  })

  test('stops without confirmation, and retries on request', async () => {
    const declined = {
      ...results,
      travel__bookVacation: { texts: ['Not confirmed.', '{"status":"declined"}'] },
    }
    const { calls, replies, messages } = await conversation(wish, declined)
    expect(calls.at(-1)?.name).toBe('travel__bookVacation')
    expect(replies.at(-1)).toContain('nothing was booked')
    messages.push({ role: 'user', content: { type: 'text', text: 'try again' } })
    const again = await goOn(messages)
    expect(again.calls[0]?.name).toBe('travel__bookVacation')
    expect(again.calls.at(-1)?.name).toBe('travel__sendEmail')
  })

  test.each(['travel__searchFlights', 'travel__bookVacation'])(
    'stops if %s fails, with its message',
    async (tool) => {
      const { calls, replies } = await conversation(wish, {
        ...results,
        [tool]: { texts: ['Over the budget.'], isError: true },
      })
      expect(calls.at(-1)?.name).toBe(tool)
      expect(replies.at(-1)).toContain('Over the budget.')
    },
  )

  test.each(['travel__findBestFlight', 'travel__createCalendarEvent', 'travel__saveItinerary'])(
    'continues if %s fails',
    async (tool) => {
      const { calls } = await conversation(wish, { ...results, [tool]: { texts: ['No.'], isError: true } })
      expect(calls.at(-1)?.name).toBe('travel__sendEmail')
    },
  )

  test('with only flights books nothing', async () => {
    const { calls, replies } = await conversation('Show me flights from Oslo to Rome on 2027-06-15')
    expect(calls.map((call) => call.name)).not.toContain('travel__bookVacation')
    expect(replies.at(-1)).toContain('Say "book it"')
  })

  test('to another place starts over', async () => {
    const { messages } = await conversation(wish)
    messages.push({
      role: 'user',
      content: { type: 'text', text: 'Now plan a trip to Rome on 2027-09-01 for 3 days' },
    })
    const { calls } = await goOn(messages)
    expect(calls.find((call) => call.name === 'travel__searchFlights')?.input).toEqual({
      origin: 'New York',
      destination: 'Rome',
      date: '2027-09-01',
    })
  })
})

describe('a request to rank flights', () => {
  const question = [
    'Analyze these flight options and recommend the best choice:',
    'id | price | times | route | stops | duration | airlines',
    'A1@2027-06-15 | $900 | 09:10 → 22:00 | JFK–BCN | nonstop | 7 h 40 min | Iberia',
    'B2@2027-06-15 | $500 | 18:30 → 12:45 (+1 d) | JFK–MAD–BCN | 1 stop in MAD, 2 h | 12 h 15 min | Delta',
    'C3@2027-06-15 | $520 | 08:00 → 23:10 | JFK–LIS–BCN | 1 stop in LIS, 1 h 30 min | 9 h | TAP',
    'D4@2027-06-15 | $2,000 | 23:55 → 14:00 (+1 d) | JFK–BCN | nonstop | 8 h 5 min | Iberia',
  ].join('\n')
  const jsonOnly = 'Answer with JSON only: {"recommendations":[{"id":"…","reason":"…"}]}'

  async function ranked(preferences: string): Promise<string[]> {
    const reply = await ask(`${question}\nUser preferences: ${preferences}\n${jsonOnly}`)
    const { recommendations } = JSON.parse(textOf(reply))
    return recommendations.map((entry: { id: string }) => entry.id)
  }

  test('is answered with the requested JSON, at most three, each reason naming the planner', async () => {
    const reply = await ask(`${question}\nUser preferences: none given\n${jsonOnly}`)
    const { recommendations } = JSON.parse(textOf(reply))
    expect(recommendations).toHaveLength(3)
    for (const { id, reason } of recommendations) {
      expect(question).toContain(id)
      expect(reason).toContain('not by a language model')
    }
    expect(reply.model).toBe('jackfield-offline-planner')
  })

  test('with more flights than fit a screen is answered too', async () => {
    const rows = Array.from(
      { length: 300 },
      (_, n) => `X${n}@2027 | $${9_000 - n} | 09:00 → 20:00 | A–B | nonstop | 9 h | Air`,
    )
    const reply = await ask(
      `id | price | times | route | stops | duration | airlines\n${rows.join('\n')}\n${jsonOnly}`,
    )
    expect(JSON.parse(textOf(reply)).recommendations[0].id).toBe('X299@2027')
  })

  test("follows the user's preferences", async () => {
    expect((await ranked('none given'))[0]).toBe('C3@2027-06-15')
    expect((await ranked('direct'))[0]).toBe('A1@2027-06-15')
    expect((await ranked('evening departure'))[0]).toBe('B2@2027-06-15')
    expect((await ranked('cheapest'))[0]).toBe('C3@2027-06-15')
  })
})

describe('any other request', () => {
  test('is answered with what the planner is and how to get a model', async () => {
    const reply = await ask('What is the capital of France?')
    expect(textOf(reply)).toMatch(
      /^\[offline planner — not a language model\] I cannot answer this.*ANTHROPIC_API_KEY/,
    )
    expect(reply.stopReason).toBe('endTurn')
  })

  test.each(['hello', 'Hi there!', 'Hey', 'help', 'Good morning', 'What can you do?', 'who are you?'])(
    '%s is answered with its abilities and a working example',
    async (text) => {
      const replies = textOf(await ask(text, { tools }))
      expect(replies).toContain('I follow rules and plan trips')
      const example = /Plan a trip .*/.exec(replies)?.[0] ?? ''
      expect(readTrip([example], new Date())).toMatchObject({
        origin: 'New York',
        destination: 'Barcelona',
        start: '2027-01-20',
        end: '2027-01-27',
        budget: 3000,
      })
      // Also in the middle of a trip.
      const { messages } = await conversation('Plan a vacation in Barcelona')
      messages.push({ role: 'user', content: { type: 'text', text } })
      expect((await goOn(messages)).replies[0]).toContain('I follow rules and plan trips')
    },
  )

  test('with unrelated tools calls none of them', async () => {
    const reply = await ask('Plan a trip to Rome', {
      tools: [{ name: 'shop__buy', inputSchema: { type: 'object' } }],
    })
    expect(usesOf(reply)).toEqual([])
    expect(textOf(reply)).toContain('I can only plan trips')
  })

  test('applies the token limit and stop sequences', async () => {
    const short = await ask('Hello', { maxTokens: 5 })
    expect(textOf(short).length).toBeLessThanOrEqual(15)
    expect(short.stopReason).toBe('maxTokens')
    const stopped = await ask('Hello', { stopSequences: ['answer'] })
    expect(textOf(stopped)).toBe(`${sign} I cannot `)
    expect(stopped.stopReason).toBe('stopSequence')
  })
})
