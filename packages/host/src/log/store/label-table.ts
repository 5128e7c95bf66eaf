import type { DatabaseSync } from 'node:sqlite'

/** A label of data that a conversation saw, and the name of the server that gave the data. */
export interface SeenLabel {
  label: string
  server: string
}

/** Which labelled data each conversation saw, so that one that is taken up again still knows. */
export interface LabelTable {
  add(conversation: string, seen: SeenLabel): void
  of(conversation: string): SeenLabel[]
}

export function createLabelTable(database: DatabaseSync): LabelTable {
  const add = database.prepare(
    'INSERT INTO labels_seen (conversation, label, server) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
  )
  const of = database.prepare(
    'SELECT label, server FROM labels_seen WHERE conversation = ? ORDER BY label, server',
  )
  return {
    add(conversation, { label, server }) {
      add.run(conversation, label, server)
    },
    of: (conversation) =>
      of.all(conversation).map((row) => ({ label: String(row['label']), server: String(row['server']) })),
  }
}
