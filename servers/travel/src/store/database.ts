import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite'
import { inTransaction, useWriteAheadLog } from '@jackfield/sdk/internal'
import { seed } from './seed.ts'

const schema = `
  CREATE TABLE events (
    id TEXT PRIMARY KEY,
    title TEXT NOT NULL,
    start_date TEXT NOT NULL,
    end_date TEXT NOT NULL,
    location TEXT,
    notes TEXT
  ) STRICT;
  CREATE INDEX events_by_start ON events (start_date);
  CREATE TABLE trips (
    name TEXT PRIMARY KEY,
    title TEXT NOT NULL,
    destination TEXT NOT NULL,
    start_date TEXT NOT NULL,
    end_date TEXT NOT NULL,
    notes TEXT NOT NULL
  ) STRICT;
  CREATE TABLE bookings (
    id TEXT PRIMARY KEY,
    idempotency_key TEXT NOT NULL UNIQUE,
    trip TEXT NOT NULL REFERENCES trips (name),
    departure TEXT NOT NULL,
    booked_at TEXT NOT NULL,
    details TEXT NOT NULL
  ) STRICT;
  CREATE TABLE outbox (
    id TEXT PRIMARY KEY,
    recipient TEXT NOT NULL,
    subject TEXT NOT NULL,
    body TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('kept', 'sending', 'sent', 'failed')),
    created_at TEXT NOT NULL,
    settled_at TEXT
  ) STRICT;
`

const travelerDetails = `
  CREATE TABLE traveler_details (
    booking TEXT PRIMARY KEY REFERENCES bookings (id),
    details TEXT NOT NULL
  ) STRICT;
`

const version = 2

/**
 * Opens the database. On first use, creates its tables and adds some events and past trips.
 * @param file a path, or `:memory:`
 */
export function openDatabase(file: string, now: Date): DatabaseSync {
  if (file !== ':memory:') mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const database = new DatabaseSync(file, { timeout: 5_000 })
  try {
    useWriteAheadLog(database)
    database.exec('PRAGMA synchronous = NORMAL')
    database.exec('PRAGMA foreign_keys = ON')
    inTransaction(database, () => {
      const found = Number(database.prepare('PRAGMA user_version').get()?.['user_version'] ?? 0)
      if (found > version) {
        throw new Error(
          `${file} was written by a newer travel server (layout ${found}, this one knows ${version}). Update the server or choose another file.`,
        )
      }
      if (found === 0) {
        database.exec(schema)
        seed(database, now)
      }
      if (found < 2) database.exec(travelerDetails)
      if (found < version) database.exec(`PRAGMA user_version = ${version}`)
    })
  } catch (error) {
    database.close()
    throw error
  }
  return database
}

/** The value of a text column. */
export function text(row: Record<string, SQLOutputValue>, column: string): string {
  const value = row[column]
  if (typeof value !== 'string') throw new TypeError(`Column ${column} is not text`)
  return value
}

/** The value of a nullable text column. */
export function optionalText(row: Record<string, SQLOutputValue>, column: string): string | undefined {
  return row[column] === null ? undefined : text(row, column)
}
