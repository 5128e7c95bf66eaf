import { randomUUID } from 'node:crypto'
import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite'
import { text } from './database.ts'

/** `kept`: no mail server is configured. `sending`: passed to the mail server, whose response is not known yet. */
export type MailStatus = 'kept' | 'sending' | 'sent' | 'failed'

export interface Mail {
  id: string
  to: string
  subject: string
  body: string
  status: MailStatus
  createdAt: string
}

export class Outbox {
  readonly #insert: StatementSync
  readonly #settle: StatementSync
  readonly #all: StatementSync

  constructor(database: DatabaseSync) {
    this.#insert = database.prepare(
      'INSERT INTO outbox (id, recipient, subject, body, status, created_at) VALUES (?, ?, ?, ?, ?, ?)',
    )
    this.#settle = database.prepare('UPDATE outbox SET status = ?, settled_at = ? WHERE id = ?')
    this.#all = database.prepare('SELECT * FROM outbox ORDER BY created_at, id')
  }

  add(mail: { to: string; subject: string; body: string; status: 'kept' | 'sending' }, now: Date): Mail {
    const entry: Mail = { id: `mail-${randomUUID()}`, ...mail, createdAt: now.toISOString() }
    this.#insert.run(entry.id, entry.to, entry.subject, entry.body, entry.status, entry.createdAt)
    return entry
  }

  settle(id: string, status: 'sent' | 'failed', now: Date): void {
    this.#settle.run(status, now.toISOString(), id)
  }

  all(): Mail[] {
    return this.#all.all().map(mailOf)
  }
}

function mailOf(row: Record<string, SQLOutputValue>): Mail {
  return {
    id: text(row, 'id'),
    to: text(row, 'recipient'),
    subject: text(row, 'subject'),
    body: text(row, 'body'),
    status: statusOf(text(row, 'status')),
    createdAt: text(row, 'created_at'),
  }
}

function statusOf(status: string): MailStatus {
  switch (status) {
    case 'kept':
    case 'sending':
    case 'sent':
    case 'failed':
      return status
    default:
      throw new TypeError(`No mail has the status ${status}`)
  }
}
