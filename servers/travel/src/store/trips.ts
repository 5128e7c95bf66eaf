import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite'
import { slug } from '../domain/words.ts'
import { text } from './database.ts'

/** A trip that was made or booked. */
export interface Trip {
  /** Such as `barcelona-2023`. */
  name: string
  title: string
  destination: string
  start: string
  end: string
  /** Markdown. */
  notes: string
}

export class Trips {
  readonly #insert: StatementSync
  readonly #all: StatementSync
  readonly #one: StatementSync

  constructor(database: DatabaseSync) {
    this.#insert = database.prepare(
      'INSERT INTO trips (name, title, destination, start_date, end_date, notes) VALUES (?, ?, ?, ?, ?, ?)',
    )
    this.#all = database.prepare('SELECT * FROM trips ORDER BY start_date, name')
    this.#one = database.prepare('SELECT * FROM trips WHERE name = ?')
  }

  /** Adds a trip with a unique name. */
  add(trip: Omit<Trip, 'name'>): Trip {
    const base = `${slug(trip.destination)}-${trip.start.slice(0, 4)}`
    let name = base
    for (let n = 2; this.find(name) !== undefined; n++) name = `${base}-${n}`
    this.#insert.run(name, trip.title, trip.destination, trip.start, trip.end, trip.notes)
    return { name, ...trip }
  }

  all(): Trip[] {
    return this.#all.all().map(tripOf)
  }

  find(name: string): Trip | undefined {
    const row = this.#one.get(name)
    return row && tripOf(row)
  }
}

function tripOf(row: Record<string, SQLOutputValue>): Trip {
  return {
    name: text(row, 'name'),
    title: text(row, 'title'),
    destination: text(row, 'destination'),
    start: text(row, 'start_date'),
    end: text(row, 'end_date'),
    notes: text(row, 'notes'),
  }
}
