import { describe, expect, test } from 'vitest'
import { addDays } from '../src/domain/dates.ts'
import { clientOf, eras, readJson, today } from './fixture.ts'

const weather = { type: 'ref/resource' as const, uri: 'weather://forecast/{city}/{date}' }
const flights = { type: 'ref/resource' as const, uri: 'travel://flights/{origin}/{destination}' }

describe.each(eras)('resources on %s', (era) => {
  test('are listed: existing ones, and templates for the others', async () => {
    const client = await clientOf(era)
    const listed = await client.resources()
    expect(listed.map(({ uri }) => uri)).toEqual([
      'travel://bookings',
      'travel://outbox',
      'trips://history',
      'trips://history/barcelona-2023',
      'trips://history/lisbon-2024',
      'trips://history/kyoto-2025',
      'calendar://events/2027',
      'calendar://events/2028',
    ])
    const templates = await client.templates()
    expect(templates).toContainEqual(
      expect.objectContaining({
        uriTemplate: 'weather://forecast/{city}/{date}',
        name: 'weather-forecast',
        title: 'Weather Forecast',
        mimeType: 'application/json',
      }),
    )
    expect(templates).toContainEqual(
      expect.objectContaining({
        uriTemplate: 'travel://flights/{origin}/{destination}',
        name: 'flight-search',
        title: 'Flight Search',
        mimeType: 'application/json',
      }),
    )
  })

  test('that are listed can all be read, in the type they are listed with', async () => {
    const client = await clientOf(era)
    for (const { uri, mimeType } of await client.resources()) {
      const { contents } = await client.read(uri)
      expect(contents).toMatchObject([{ uri, mimeType }])
    }
  })

  test('contain the calendar of a year, the weather of a day and the flights of the next days', async () => {
    const client = await clientOf(era)
    expect(await readJson(client, 'calendar://events/2027')).toMatchObject({
      year: '2027',
      events: expect.arrayContaining([
        expect.objectContaining({ title: 'Product launch', start: '2027-07-06', end: '2027-07-10' }),
      ]),
    })
    expect(await readJson(client, 'calendar://events/2040')).toEqual({ year: '2040', events: [] })
    expect(await readJson(client, 'weather://forecast/barcelona/2027-06-15')).toMatchObject({
      city: 'Barcelona',
      country: 'Spain',
      date: '2027-06-15',
      highC: expect.any(Number),
    })
    const found = await readJson(client, 'travel://flights/NYC/Barcelona')
    expect(found).toMatchObject({ origin: { code: 'NYC' }, destination: { code: 'BCN' }, currency: 'USD' })
    expect(found).toMatchObject({
      days: Array.from({ length: 14 }, (_, i) => ({
        date: addDays(today, i),
        options: expect.any(Number),
        cheapest: { priceUsd: expect.any(Number) },
        quickest: { stops: 0 },
      })),
    })
  })

  test('with spaces and accents in their address are found', async () => {
    const client = await clientOf(era)
    expect(await readJson(client, 'weather://forecast/New%20York/2027-06-15')).toMatchObject({
      city: 'New York',
    })
    expect(await readJson(client, 'weather://forecast/S%C3%A3o%20Paulo/2027-06-15')).toMatchObject({
      city: 'São Paulo',
    })
  })

  test('of a past trip contain notes in Markdown', async () => {
    const client = await clientOf(era)
    const { contents } = await client.read('trips://history/barcelona-2023')
    expect(contents).toMatchObject([
      { mimeType: 'text/markdown', text: expect.stringContaining('# Barcelona') },
    ])
  })

  test.each([
    'calendar://events/soon',
    'trips://history/atlantis-1999',
    'weather://forecast/Atlantis/2027-06-15',
    'weather://forecast/Paris/2027-02-30',
    'travel://flights/NYC/Atlantis',
    'travel://flights/Queenstown/Barcelona',
    'travel://nothing',
  ])('that do not exist are not found: %s', async (uri) => {
    const client = await clientOf(era)
    await expect(client.read(uri)).rejects.toMatchObject({ code: era === '2026-07-28' ? -32602 : -32002 })
  })

  test('name the city they refer to', async () => {
    const client = await clientOf(era)
    await expect(client.read('weather://forecast/Barcelna/2027-06-15')).rejects.toThrow(
      'Did you mean Barcelona',
    )
  })
})

describe.each(eras)('completion on %s', (era) => {
  test('completes typed text as in the documentation', async () => {
    const client = await clientOf(era)
    const city = await client.complete({ ref: weather, argument: { name: 'city', value: 'Par' } })
    expect(city.values).toEqual(['Paris', 'Park City'])
    const destination = await client.complete({
      ref: flights,
      argument: { name: 'destination', value: 'Bar' },
      context: { arguments: { origin: 'NYC' } },
    })
    expect(destination.values).toEqual(['Barcelona', 'Barbados', 'Bari', 'Barranquilla'])
  })

  test('offers only destinations that can be reached from the origin', async () => {
    const client = await clientOf(era)
    const ask = (value: string) =>
      client.complete({
        ref: flights,
        argument: { name: 'destination', value },
        context: { arguments: { origin: 'Queenstown' } },
      })
    expect((await ask('Bar')).values).toEqual([])
    const reachable = (await ask('')).values
    expect(reachable).toContain('Sydney')
    for (const destination of reachable) {
      await expect(
        client.read(`travel://flights/Queenstown/${encodeURIComponent(destination)}`),
      ).resolves.toBeDefined()
    }
  })

  test('offers the next days', async () => {
    const client = await clientOf(era)
    const ask = async (value: string) =>
      (await client.complete({ ref: weather, argument: { name: 'date', value } })).values
    expect((await ask('')).slice(0, 2)).toEqual(['2027-03-01', '2027-03-02'])
    expect(await ask('2027-06-1')).toEqual(Array.from({ length: 10 }, (_, i) => `2027-06-1${i}`))
    expect(await ask('2026')).toEqual([])
  })

  test('offers the years of the calendar and the names of trips', async () => {
    const client = await clientOf(era)
    const year = { type: 'ref/resource' as const, uri: 'calendar://events/{year}' }
    const trip = { type: 'ref/resource' as const, uri: 'trips://history/{trip}' }
    expect((await client.complete({ ref: year, argument: { name: 'year', value: '20' } })).values).toEqual([
      '2027',
      '2028',
    ])
    expect((await client.complete({ ref: trip, argument: { name: 'trip', value: 'Bar' } })).values).toEqual([
      'barcelona-2023',
    ])
  })
})
