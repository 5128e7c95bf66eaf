import type { ProgressReport } from '@jackfield/sdk/client'
import { describe, expect, test } from 'vitest'
import { clientOf, eras, filling, type Question, readJson, textOf, travelServer } from '../fixture.ts'

const wish = {
  destination: 'Barcelona',
  origin: 'NYC',
  departure: '2027-06-15',
  returnDate: '2027-06-22',
  travelers: 2,
}

describe.each(eras)('bookVacation on %s', (era) => {
  test('asks with the price and for details, and books once when the traveller accepts', async () => {
    const asked: Question[] = []
    const client = await clientOf(
      era,
      filling(
        { confirmBooking: true, seatPreference: 'aisle', roomType: 'sea view', travelInsurance: true },
        asked,
      ),
    )
    const result = await client.call('bookVacation', wish)
    expect(result.isError).toBeFalsy()
    expect(asked).toHaveLength(2)
    const booking = result.structuredContent?.booking
    expect(result.structuredContent?.status).toBe('booked')
    expect(booking).toMatchObject({
      destination: { code: 'BCN' },
      travelers: 2,
      choices: { seatPreference: 'aisle', roomType: 'sea view', travelInsurance: true },
    })
    expect(booking?.total).toBe(
      2 * ((booking?.outbound.priceUsd ?? 0) + (booking?.inbound.priceUsd ?? 0)) +
        (booking?.stay.priceUsd ?? 0) +
        150,
    )
    expect(await readJson(client, 'travel://bookings')).toEqual({ bookings: [booking] })
    expect(textOf(await client.call('bookVacation', wish))).toContain('Booked')
    expect(await readJson(client, 'travel://bookings')).toMatchObject({ bookings: [{}, {}] })
  })

  test('shows the form of the documentation', async () => {
    const asked: Question[] = []
    const client = await clientOf(era, filling({ confirmBooking: false }, asked))
    await client.call('bookVacation', wish)
    const [question] = asked
    expect(question).toMatchObject({
      message: expect.stringContaining('Please confirm your Barcelona vacation booking details:'),
      requestedSchema: {
        type: 'object',
        properties: {
          confirmBooking: {
            type: 'boolean',
            description: expect.stringMatching(/^Confirm the booking \(Flights \+ Hotel = \$[\d,]+\)$/),
          },
          seatPreference: { type: 'string', enum: ['window', 'aisle', 'no preference'] },
          roomType: {
            type: 'string',
            oneOf: [
              { const: 'sea view', title: 'Sea view' },
              { const: 'city view', title: 'City view' },
              { const: 'garden view', title: 'Garden view' },
            ],
          },
          travelInsurance: {
            type: 'boolean',
            default: false,
            description: 'Add travel insurance ($150)',
          },
        },
        required: ['confirmBooking'],
      },
    })
  })

  test('uses the defaults for values that the traveller left out', async () => {
    const client = await clientOf(era, filling({ confirmBooking: true }))
    const { structuredContent } = await client.call('bookVacation', wish)
    expect(structuredContent?.booking?.choices).toEqual({
      seatPreference: 'no preference',
      roomType: 'city view',
      travelInsurance: false,
    })
  })

  test.each([
    ['declines', { action: 'decline' as const }, 'declined'],
    ['closes the form', { action: 'cancel' as const }, 'cancelled'],
    ['does not confirm', { action: 'accept' as const, content: { confirmBooking: false } }, 'declined'],
  ])('books nothing when the traveller %s', async (_what, answer, status) => {
    const client = await clientOf(era, { onElicit: () => answer })
    const result = await client.call('bookVacation', wish)
    expect(result.isError).toBeFalsy()
    expect(result.structuredContent).toEqual({ status })
    expect(textOf(result)).toContain('Nothing was booked')
    expect(await readJson(client, 'travel://bookings')).toEqual({ bookings: [] })
    expect(await readJson(client, 'trips://history')).toMatchObject({ trips: [{}, {}, {}] })
  })

  test('books nothing when the client does not support elicitation, and reports what is missing', async () => {
    const client = await clientOf(era)
    const result = await client.call('bookVacation', wish)
    expect(result.isError).toBe(true)
    expect(textOf(result)).toContain('elicitation')
    expect(await readJson(client, 'travel://bookings')).toEqual({ bookings: [] })
  })

  test('books nothing when the answer does not fit the form', async () => {
    const client = await clientOf(era, filling({ confirmBooking: 'yes' }))
    await expect(
      client.call('bookVacation', wish).then((result) => {
        if (result.isError) throw new Error(textOf(result))
      }),
    ).rejects.toThrow()
    expect(await readJson(client, 'travel://bookings')).toEqual({ bookings: [] })
  })

  test('uses the flights that were chosen from a search', async () => {
    const client = await clientOf(era, filling({ confirmBooking: true }))
    const { structuredContent: found } = await client.call('searchFlights', {
      origin: 'NYC',
      destination: 'Barcelona',
      date: wish.departure,
    })
    const outboundFlight = found?.options.at(-1)?.id ?? ''
    const { structuredContent } = await client.call('bookVacation', { ...wish, outboundFlight })
    expect(structuredContent?.booking?.outbound.id).toBe(outboundFlight)
  })

  test('uses cheaper flights if the best ones exceed the budget', async () => {
    const client = await clientOf(era, filling({ confirmBooking: true }))
    const total = async (budget?: number): Promise<number> => {
      const { structuredContent } = await client.call('bookVacation', {
        ...wish,
        ...(budget === undefined ? {} : { budget }),
      })
      return structuredContent?.booking?.total ?? Number.NaN
    }
    const best = await total()
    const cheaper = await total(best - 1)
    expect(cheaper).toBeLessThan(best)
    const refused = await client.call('bookVacation', { ...wish, budget: cheaper - 1 })
    expect(textOf(refused)).toContain('$1 over the budget')
  })

  test.each([
    ['a return before the departure', { returnDate: '2027-06-14' }, 'must come after'],
    ['a departure in the past', { departure: '2026-06-15', returnDate: '2026-06-22' }, 'in the past'],
    ['a stay without end', { returnDate: '2028-06-15' }, 'more than the 60'],
    ['a budget that does not suffice', { budget: 300 }, 'over the budget of $300'],
    ['an unknown city', { destination: 'Barcelna' }, 'Did you mean Barcelona (BCN)'],
    ['a flight that does not exist', { outboundFlight: 'XX1@2027-06-15' }, 'is not a flight'],
    ['a flight of another day', { outboundFlight: '' }, 'is not a flight'],
    ['no night to stay', { returnDate: '2027-06-16' }, 'leaves no night'],
  ])('refuses %s before asking anyone', async (_what, change, message) => {
    const asked: Question[] = []
    const client = await clientOf(era, filling({ confirmBooking: true }, asked))
    const result = await client.call('bookVacation', { ...wish, ...change })
    expect(result.isError).toBe(true)
    expect(textOf(result)).toContain(message)
    expect(asked).toEqual([])
    expect(await readJson(client, 'travel://bookings')).toEqual({ bookings: [] })
  })

  test('reports its progress, each step once and in order', async () => {
    const client = await clientOf(era, filling({ confirmBooking: true }))
    const reports: ProgressReport[] = []
    await client.call('bookVacation', wish, { onProgress: (report) => reports.push(report) })
    expect(reports.map(({ progress }) => progress)).toEqual([1, 2, 3, 4, 5, 6])
    expect(reports.every(({ total }) => total === 6)).toBe(true)
  })

  test('notifies subscribers of the bookings and of the trips', async () => {
    const server = travelServer()
    const watcher = await clientOf(era, {}, server)
    const seen: string[] = []
    const watch = await watcher.watch(
      { resourceSubscriptions: ['travel://bookings', 'trips://history'], resourcesListChanged: true },
      (change) => seen.push(change.type === 'resource' ? change.uri : change.type),
    )
    const client = await clientOf(era, filling({ confirmBooking: true }), server)
    await client.call('bookVacation', wish)
    await expect.poll(() => seen.toSorted()).toEqual(['resources', 'travel://bookings', 'trips://history'])
    await watch.close()
    const names = (await client.resources({ cache: 'bypass' })).map(({ uri }) => uri)
    expect(names).toContain('trips://history/barcelona-2027')
  })
})
