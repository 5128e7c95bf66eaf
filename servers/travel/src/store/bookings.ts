import { randomBytes } from 'node:crypto'
import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite'
import { inTransaction } from '@jackfield/sdk/internal'
import {
  type Booking,
  bookingShape,
  type Order,
  type TravelerDetails,
  travelerDetailsShape,
} from '../schemas.ts'
import { text } from './database.ts'
import type { Trips } from './trips.ts'

export class Bookings {
  readonly #database: DatabaseSync
  readonly #trips: Trips
  readonly #insert: StatementSync
  readonly #byKey: StatementSync
  readonly #byId: StatementSync
  readonly #all: StatementSync
  readonly #insertDetails: StatementSync
  readonly #details: StatementSync

  constructor(database: DatabaseSync, trips: Trips) {
    this.#database = database
    this.#trips = trips
    this.#insert = database.prepare(
      'INSERT INTO bookings (id, idempotency_key, trip, departure, booked_at, details) VALUES (?, ?, ?, ?, ?, ?)',
    )
    this.#byKey = database.prepare('SELECT details FROM bookings WHERE idempotency_key = ?')
    this.#byId = database.prepare('SELECT details FROM bookings WHERE id = ?')
    this.#all = database.prepare('SELECT details FROM bookings ORDER BY departure, id')
    this.#insertDetails = database.prepare('INSERT INTO traveler_details (booking, details) VALUES (?, ?)')
    this.#details = database.prepare('SELECT details FROM traveler_details WHERE booking = ?')
  }

  /**
   * Stores a booking and its trip, both or neither.
   * @param key idempotency key: with the key of an earlier call, the booking of that call is returned
   */
  book(
    key: string,
    { order, details }: { order: Order; details: TravelerDetails },
    trip: { title: string; notes: string },
    now: Date,
  ): Booking {
    return inTransaction(this.#database, () => {
      const before = this.#byKey.get(key)
      if (before !== undefined) return bookingOf(before)
      const { name } = this.#trips.add({
        ...trip,
        destination: order.destination.city,
        start: order.departure,
        end: order.returnDate,
      })
      const booking: Booking = {
        id: reference(),
        trip: name,
        bookedAt: now.toISOString(),
        detailsGiven: Object.keys(details),
        ...order,
      }
      this.#insert.run(
        booking.id,
        key,
        booking.trip,
        booking.departure,
        booking.bookedAt,
        JSON.stringify(booking),
      )
      this.#insertDetails.run(booking.id, JSON.stringify(details))
      return booking
    })
  }

  find(id: string): Booking | undefined {
    const row = this.#byId.get(id.toUpperCase())
    return row && bookingOf(row)
  }

  /** The details of the traveller; empty for a booking of an older version. */
  detailsOf(id: string): TravelerDetails {
    const row = this.#details.get(id)
    return row === undefined ? {} : travelerDetailsShape.parse(JSON.parse(text(row, 'details')))
  }

  all(): Booking[] {
    return this.#all.all().map(bookingOf)
  }
}

const letters = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789'

/** A booking reference of letters and digits that cannot be confused. */
function reference(): string {
  return `JF-${Array.from(randomBytes(8), (byte) => letters[byte % letters.length]).join('')}`
}

function bookingOf(row: Record<string, SQLOutputValue>): Booking {
  return bookingShape.parse(JSON.parse(text(row, 'details')))
}
