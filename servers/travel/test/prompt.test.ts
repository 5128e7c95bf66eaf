import type { Client } from '@jackfield/sdk/client'
import { describe, expect, test } from 'vitest'
import { clientOf, eras, travelServer } from './fixture.ts'

const ref = { type: 'ref/prompt' as const, name: 'plan-vacation' }

describe.each(eras)('plan-vacation on %s', (era) => {
  test('is listed as in the documentation', async () => {
    const client = await clientOf(era)
    const [prompt] = await client.prompts()
    expect(prompt).toMatchObject({
      name: 'plan-vacation',
      title: 'Plan a vacation',
      description: 'Guide through vacation planning process',
    })
    expect(prompt?.arguments?.slice(0, 4)).toMatchObject([
      { name: 'destination', required: true },
      { name: 'duration', description: 'days' },
      { name: 'budget' },
      { name: 'interests' },
    ])
    expect(prompt?.arguments?.filter(({ required }) => required)).toHaveLength(1)
  })

  test('walks through calendar, past trips, weather, flights and booking', async () => {
    const client = await clientOf(era)
    const { messages } = await client.prompt('plan-vacation', {
      destination: 'Barcelona',
      duration: '7 days',
      budget: '$3,000',
      interests: '["beaches", "architecture", "food"]',
    })
    const [first, ...others] = messages
    const text = first?.content.type === 'text' ? first.content.text : ''
    for (const part of [
      'Barcelona (BCN)',
      '7 days',
      '$3,000',
      'beaches, architecture and food',
      'calendar://events/2027',
      'trips://history/barcelona-2023',
      'weather://forecast/Barcelona/{date}',
      'searchFlights',
      'findBestFlight',
      'bookVacation',
      'createCalendarEvent',
      'saveItinerary',
      'sendEmail',
    ]) {
      expect(text).toContain(part)
    }
    expect(others.map(({ content }) => content)).toEqual([
      {
        type: 'resource',
        resource: {
          uri: 'calendar://events/2027',
          mimeType: 'application/json',
          text: expect.stringContaining('Product launch'),
        },
      },
      expect.objectContaining({ type: 'resource_link', uri: 'trips://history/barcelona-2023' }),
      expect.objectContaining({ type: 'resource_link', uri: 'trips://history/lisbon-2024' }),
      expect.objectContaining({ type: 'resource_link', uri: 'trips://history/kyoto-2025' }),
    ])
  })

  test('accepts dates and travellers, and links to the weather of the first day', async () => {
    const client = await clientOf(era)
    const { messages } = await client.prompt('plan-vacation', {
      destination: 'BCN',
      departure_date: '2028-06-15',
      return_date: '2028-06-22',
      travelers: '2',
    })
    const text = messages[0]?.content.type === 'text' ? messages[0].content.text : ''
    expect(text).toContain('from 2028-06-15 to 2028-06-22; for 2 travellers')
    expect(messages.at(-1)?.content).toMatchObject({ uri: 'weather://forecast/Barcelona/2028-06-15' })
  })

  test('uses two years late in a year', async () => {
    const server = travelServer({ now: () => new Date('2027-11-20T12:00:00Z') })
    const client = await clientOf(era, {}, server)
    const { messages } = await client.prompt('plan-vacation', { destination: 'Barcelona' })
    const embedded = messages.flatMap(({ content }) =>
      content.type === 'resource' ? [content.resource.uri] : [],
    )
    expect(embedded).toEqual(['calendar://events/2027', 'calendar://events/2028'])
  })

  test.each([
    [{ destination: 'Barcelna' }, 'Did you mean Barcelona'],
    [{ destination: 'Barcelona', duration: 'a while' }, 'number of days'],
    [{ destination: 'Barcelona', departure_date: 'June' }, 'a date that exists'],
    [{}, 'destination'],
  ])('reports %j', async (args, message) => {
    const client: Client = await clientOf(era)
    await expect(client.prompt('plan-vacation', args)).rejects.toThrow(message)
  })

  test('completes its arguments', async () => {
    const client = await clientOf(era)
    const ask = async (name: string, value: string) =>
      (await client.complete({ ref, argument: { name, value } })).values
    expect(await ask('destination', 'Bar')).toEqual(['Barcelona', 'Barbados', 'Bari', 'Barranquilla'])
    expect(await ask('duration', '1')).toEqual(['10', '14'])
    expect(await ask('interests', 'food, a')).toEqual(['food, architecture'])
    expect(await ask('departure_date', '2027-06-0')).toHaveLength(9)
  })

  test('has instructions that explain the server', async () => {
    const client = await clientOf(era)
    expect(client.server.info).toMatchObject({ name: 'travel', title: 'Travel' })
    expect(client.server.instructions).toContain('bookVacation')
  })
})
