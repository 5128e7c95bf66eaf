import { randomUUID } from 'node:crypto'

/** A name for one question, unlike any other. */
export function questionId(): string {
  return randomUUID()
}
