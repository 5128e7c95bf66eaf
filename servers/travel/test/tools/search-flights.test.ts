import { describe, expect, test } from 'vitest'
import { clientOf, eras, textOf } from '../fixture.ts'

describe.each(eras)('searchFlights on %s', (era) => {
  test('answers the call of the documentation with text and structure that agree', async () => {
    const client = await clientOf(era)
    const result = await client.call('searchFlights', {
      origin: 'NYC',
      destination: 'Barcelona',
      date: '2026-06-15',
    })
    const found = result.structuredContent
    expect(found).toMatchObject({
      origin: { code: 'NYC', city: 'New York', country: 'United States' },
      destination: { code: 'BCN', city: 'Barcelona', country: 'Spain' },
      date: '2026-06-15',
      currency: 'USD',
    })
    expect(found?.options).toHaveLength(47)
    const text = textOf(result)
    expect(text).toContain('47 flight options from New York (NYC) to Barcelona (BCN) on 2026-06-15')
    for (const { id, priceUsd } of found?.options ?? []) expect(text).toContain(`${id} | $${priceUsd}`)
  })

  test('accepts names and codes in any case', async () => {
    const client = await clientOf(era)
    const byName = await client.call('searchFlights', {
      origin: 'new york',
      destination: 'BARCELONA',
      date: '2027-06-15',
    })
    const byCode = await client.call('searchFlights', {
      origin: 'nyc',
      destination: 'bcn',
      date: '2027-06-15',
    })
    expect(byName.structuredContent).toEqual(byCode.structuredContent)
  })

  test.each([
    [{ origin: 'NYC', destination: 'Barcelna', date: '2027-06-15' }, 'Did you mean Barcelona (BCN)?'],
    [
      { origin: 'Xanadu on Sea', destination: 'Barcelona', date: '2027-06-15' },
      'Known are 65 cities, among them',
    ],
    [{ origin: 'JFK', destination: 'New York', date: '2027-06-15' }, 'two different cities'],
    [{ origin: 'Queenstown', destination: 'Barcelona', date: '2027-06-15' }, 'that meet in'],
    [{ origin: 'NYC', destination: 'Barcelona', date: '2027-02-29' }, 'a date that exists'],
    [{ origin: 'NYC', destination: 'Barcelona', date: 'tomorrow' }, 'a date that exists'],
  ])('reports what is wrong with %j', async (args, message) => {
    const client = await clientOf(era)
    const result = await client.call('searchFlights', args)
    expect(result.isError).toBe(true)
    expect(textOf(result)).toContain(message)
  })

  test('has correct annotations for each tool', async () => {
    const client = await clientOf(era)
    const tools = await client.tools()
    expect(tools.map(({ name }) => name)).toEqual([
      'searchFlights',
      'findBestFlight',
      'bookVacation',
      'createCalendarEvent',
      'sendEmail',
      'saveItinerary',
      'findTravelFiles',
    ])
    for (const tool of tools) {
      expect(tool.title, tool.name).toBeTruthy()
      expect(tool.description, tool.name).toBeTruthy()
      expect(tool.outputSchema, tool.name).toMatchObject({ type: 'object' })
    }
    const hints = Object.fromEntries(tools.map(({ name, annotations }) => [name, annotations]))
    expect(hints['searchFlights']?.readOnlyHint).toBe(true)
    expect(hints['findBestFlight']?.readOnlyHint).toBe(true)
    expect(hints['bookVacation']?.readOnlyHint).toBe(false)
    expect(hints['sendEmail']?.openWorldHint).toBe(true)
    expect(hints['saveItinerary']?.destructiveHint).toBe(true)
    const input = tools[0]?.inputSchema
    expect(input?.['required']).toEqual(['origin', 'destination', 'date'])
    expect(input?.['properties']).toMatchObject({ date: { type: 'string', format: 'date' } })
  })
})
