import { randomUUID } from 'node:crypto'
import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite'
import { optionalText, text } from './database.ts'

/** An event. `start` and `end` are dates, or dates with a local time; the end date is part of the event. */
export interface CalendarEvent {
  id: string
  title: string
  start: string
  end: string
  location?: string
  notes?: string
}

export class Calendar {
  readonly #insert: StatementSync
  readonly #inYear: StatementSync
  readonly #between: StatementSync
  readonly #years: StatementSync

  constructor(database: DatabaseSync) {
    this.#insert = database.prepare(
      'INSERT INTO events (id, title, start_date, end_date, location, notes) VALUES (?, ?, ?, ?, ?, ?)',
    )
    this.#inYear = database.prepare(
      'SELECT * FROM events WHERE substr(start_date, 1, 4) <= ?1 AND substr(end_date, 1, 4) >= ?1 ORDER BY start_date, id',
    )
    this.#between = database.prepare(
      'SELECT * FROM events WHERE substr(start_date, 1, 10) <= ?2 AND substr(end_date, 1, 10) >= ?1 ORDER BY start_date, id',
    )
    this.#years = database.prepare(
      'SELECT substr(start_date, 1, 4) AS first, substr(end_date, 1, 4) AS last FROM events GROUP BY first, last',
    )
  }

  add(event: Omit<CalendarEvent, 'id'>): CalendarEvent {
    const id = `evt-${randomUUID()}`
    this.#insert.run(id, event.title, event.start, event.end, event.location ?? null, event.notes ?? null)
    return { id, ...event }
  }

  /** Events in a year. */
  inYear(year: string): CalendarEvent[] {
    return this.#inYear.all(year).map(eventOf)
  }

  /** Events from one date to another, both included. */
  between(first: string, last: string): CalendarEvent[] {
    return this.#between.all(first, last).map(eventOf)
  }

  /** Years with events, in order. */
  years(): string[] {
    const years = new Set<string>()
    for (const row of this.#years.all()) {
      for (const year of yearsOf(text(row, 'first'), text(row, 'last'))) years.add(year)
    }
    return [...years].toSorted()
  }
}

/** The years from one date to another. */
export function yearsOf(start: string, end: string): string[] {
  const first = Number(start.slice(0, 4))
  return Array.from({ length: Number(end.slice(0, 4)) - first + 1 }, (_, i) => String(first + i))
}

function eventOf(row: Record<string, SQLOutputValue>): CalendarEvent {
  const location = optionalText(row, 'location')
  const notes = optionalText(row, 'notes')
  return {
    id: text(row, 'id'),
    title: text(row, 'title'),
    start: text(row, 'start_date'),
    end: text(row, 'end_date'),
    ...(location === undefined ? {} : { location }),
    ...(notes === undefined ? {} : { notes }),
  }
}
