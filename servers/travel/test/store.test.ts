import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openTogether } from '../../../test/setup/open-together.ts'
import { assemble, chooseOption } from '../src/domain/package.ts'
import { findPlace } from '../src/domain/places.ts'
import { searchOptions } from '../src/domain/schedule.ts'
import { quoteStay } from '../src/domain/stay.ts'
import type { Order } from '../src/schemas.ts'
import { Bookings, Calendar, openDatabase, Trips } from '../src/store/index.ts'

const now = new Date('2027-03-01T12:00:00Z')

function file(): string {
  const made = mkdtempSync(join(tmpdir(), 'travel-'))
  onTestFinished(() => rmSync(made, { recursive: true }))
  return join(made, 'deep', 'travel.db')
}

function open(path: string): {
  database: DatabaseSync
  bookings: Bookings
  trips: Trips
  calendar: Calendar
} {
  const database = openDatabase(path, now)
  onTestFinished(() => {
    if (database.isOpen) database.close()
  })
  const trips = new Trips(database)
  return { database, trips, bookings: new Bookings(database, trips), calendar: new Calendar(database) }
}

function order(): Order {
  const origin = findPlace('NYC')
  const destination = findPlace('Barcelona')
  const options = origin && destination && searchOptions(origin, destination, '2027-06-15')
  const back = origin && destination && searchOptions(destination, origin, '2027-06-22')
  const outbound = options && chooseOption(options, 'best')
  const inbound = back && chooseOption(back, 'best')
  if (!destination || !outbound || !inbound) throw new Error('no flights')
  const stay = quoteStay(destination.city, outbound.arrives.slice(0, 10), '2027-06-22', 1)
  const { totalUsd } = assemble(outbound, inbound, stay, 1)
  return {
    origin: { code: 'NYC', city: 'New York', country: 'United States' },
    destination: { code: 'BCN', city: 'Barcelona', country: 'Spain' },
    departure: '2027-06-15',
    returnDate: '2027-06-22',
    travelers: 1,
    outbound,
    inbound,
    stay,
    choices: { seatPreference: 'aisle', roomType: 'sea view', travelInsurance: false },
    currency: 'USD',
    total: totalUsd,
  }
}

const trip = { title: 'Barcelona', notes: '- none' }

describe('the database', () => {
  test('is created on first use, with events of this year and the next, and kept afterwards', () => {
    const path = file()
    const first = open(path)
    expect(first.calendar.years()).toEqual(['2027', '2028'])
    expect(first.calendar.inYear('2027').length).toBeGreaterThan(3)
    expect(first.calendar.between('2027-06-15', '2027-06-22')).toEqual([])
    expect(first.trips.find('barcelona-2023')?.notes).toContain('Sagrada Família')
    first.calendar.add({ title: 'Mine', start: '2031-01-01', end: '2031-01-01' })
    first.database.close()
    const second = open(path)
    expect(second.calendar.years()).toEqual(['2027', '2028', '2031'])
    expect(second.calendar.inYear('2031')).toMatchObject([{ title: 'Mine' }])
    if (process.platform !== 'win32') expect(statSync(join(path, '..')).mode & 0o077).toBe(0)
  })

  test('of a newer server is rejected and not changed', () => {
    const path = file()
    open(path).database.close()
    const raw = new DatabaseSync(path)
    raw.exec('PRAGMA user_version = 99')
    raw.close()
    expect(() => openDatabase(path, now)).toThrow('newer travel server')
  })
})

test('a database of the previous version keeps its bookings, and accepts new ones with details', () => {
  const path = file()
  const before = open(path)
  const old = before.bookings.book('key-1', { order: order(), details: {} }, trip, now)
  // As that version wrote it.
  before.database.exec(`DROP TABLE traveler_details; PRAGMA user_version = 1`)
  before.database
    .prepare('UPDATE bookings SET details = ?')
    .run(JSON.stringify({ ...old, detailsGiven: undefined }))
  before.database.close()
  const { bookings } = open(path)
  expect(bookings.find(old.id)).toEqual(old)
  expect(bookings.detailsOf(old.id)).toEqual({})
  const details = { travelerNames: 'Ada Lovelace' }
  const next = bookings.book('key-2', { order: order(), details }, trip, now)
  expect(next.detailsGiven).toEqual(['travelerNames'])
  expect(bookings.detailsOf(next.id)).toEqual(details)
})

describe('a booking', () => {
  test('is created once for a key, by any number of servers', () => {
    const path = file()
    const one = open(path)
    const two = open(path)
    const first = one.bookings.book('key-1', { order: order(), details: { contactPhone: '+1' } }, trip, now)
    expect(
      one.bookings.book('key-1', { order: order(), details: { contactPhone: '+1' } }, trip, now),
    ).toEqual(first)
    expect(
      two.bookings.book('key-1', { order: order(), details: { contactPhone: '+1' } }, trip, now),
    ).toEqual(first)
    expect(two.bookings.all()).toEqual([first])
    expect(one.trips.all().filter(({ name }) => name.startsWith('barcelona-2027'))).toHaveLength(1)
    const second = two.bookings.book('key-2', { order: order(), details: { contactPhone: '+1' } }, trip, now)
    expect(second.trip).toBe('barcelona-2027-2')
    expect(one.bookings.find(second.id)).toEqual(second)
  })

  test('that fails creates no trip', () => {
    const { bookings, trips } = open(':memory:')
    const before = trips.all()
    const noTime = new Date(Number.NaN)
    expect(() =>
      bookings.book('key-1', { order: order(), details: { contactPhone: '+1' } }, trip, noTime),
    ).toThrow()
    expect(trips.all()).toEqual(before)
    expect(bookings.all()).toEqual([])
  })
})

test('a full disk is reported as such', () => {
  const { database, bookings } = open(file())
  const pages = Number(database.prepare('PRAGMA page_count').get()?.['page_count'])
  database.exec(`PRAGMA max_page_count = ${pages + 2}; PRAGMA cache_size = 1`)
  const trip = { title: 'Barcelona', notes: 'x'.repeat(1_000_000) }
  expect(() => bookings.book('key', { order: order(), details: {} }, trip, now)).toThrow(/full/)
  expect(bookings.all()).toEqual([])
})

test('servers that open a new file at the same moment can all use it', { timeout: 60_000 }, async () => {
  const source = new URL('../src/store/database.ts', import.meta.url).href
  const reports = await openTogether(
    `import { openDatabase } from ${JSON.stringify(source)}
     const use = (file) => openDatabase(file, new Date('2027-03-01')).close()`,
  )
  expect(new Set(reports)).toEqual(new Set(['used']))
})
