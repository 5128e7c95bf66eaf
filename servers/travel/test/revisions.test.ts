import { protocolVersions } from '@jackfield/sdk'
import { connect } from '@jackfield/sdk/client'
import { describe, expect, onTestFinished, test } from 'vitest'
import { filling, readJson, textOf, travelServer } from './fixture.ts'

const wish = { destination: 'Barcelona', departure: '2027-06-15', returnDate: '2027-06-22' }

describe.each(protocolVersions)('a client of revision %s', (revision) => {
  const asks = revision >= '2025-06-18'

  test(`searches flights, and ${asks ? 'books once the traveller agreed' : 'books nothing, as it cannot be asked'}`, async () => {
    const client = await connect(travelServer(), {
      revisions: [revision],
      ...filling({ confirmBooking: true, roomType: 'garden view' }),
    })
    onTestFinished(() => client.close())
    expect(client.server.revision).toBe(revision)
    const found = await client.call('searchFlights', {
      origin: 'NYC',
      destination: 'Barcelona',
      date: '2027-06-15',
    })
    expect(textOf(found)).toContain('flight options from New York')
    const booked = await client.call('bookVacation', wish)
    expect(booked.isError ?? false).toBe(!asks)
    expect(textOf(booked)).toContain(asks ? 'garden view' : 'Nothing was booked')
    expect(await readJson(client, 'travel://bookings')).toMatchObject({ bookings: asks ? [{}] : [] })
    const { messages } = await client.prompt('plan-vacation', { destination: 'Barcelona' })
    expect(messages.length).toBeGreaterThan(2)
  })
})
