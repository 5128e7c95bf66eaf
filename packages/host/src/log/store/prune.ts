import type { DatabaseSync } from 'node:sqlite'
import { McpError } from '@jackfield/sdk'
import { atomically, type Chain } from './chain.ts'

/**
 * Takes away every link before the first row that is of `before` or later, with its contents, and links a note of the
 * hash that the chain goes on from. Gives the count of rows taken away.
 * @throws McpError 'INVALID' where `before` is no time
 */
export function pruneChain(database: DatabaseSync, chain: Chain, before: string): number {
  const time = Date.parse(before)
  if (Number.isNaN(time)) {
    throw new McpError(
      'INVALID',
      `${JSON.stringify(before)} is no time. Write it as 2027-01-31 or 2027-01-31T12:00:00Z.`,
    )
  }
  const first = new Date(time).toISOString()
  return atomically(database, () => {
    // Writes first, so that no other program appends meanwhile.
    database.exec('UPDATE activity_head SET pruned = pruned')
    const kept = database
      .prepare(
        `SELECT min(c.position) AS position FROM activity_chain c JOIN activity r ON r.id = c.activity
         WHERE c.kind = 'row' AND r.at >= ?`,
      )
      .get(first)?.['position']
    const last = database
      .prepare('SELECT position, hash FROM activity_chain WHERE position < ? ORDER BY position DESC LIMIT 1')
      .get(typeof kept === 'number' ? kept : Number.MAX_SAFE_INTEGER)
    if (last === undefined) return 0
    const position = Number(last['position'])
    const hash = String(last['hash'])
    const old = `IN (SELECT activity FROM activity_chain WHERE position <= ${position} AND kind =`
    const rows = Number(
      database
        .prepare(`SELECT count(*) AS n FROM activity_chain WHERE position <= ? AND kind = 'row'`)
        .get(position)?.['n'],
    )
    if (rows === 0) return 0
    database.prepare('UPDATE activity_head SET pruned = ?').run(position)
    database.exec(`
      DELETE FROM activity WHERE id ${old} 'row');
      DELETE FROM activity_end WHERE activity ${old} 'end');
      DELETE FROM activity_prune WHERE id ${old} 'prune');
      DELETE FROM activity_chain WHERE position <= ${position}`)
    chain.append('prune', () => {
      const at = new Date().toISOString()
      const note = database
        .prepare(
          'INSERT INTO activity_prune (position, hash, at, before, rows) VALUES (?, ?, ?, ?, ?) RETURNING id',
        )
        .get(position, hash, at, first, rows)
      return { id: Number(note?.['id']), fields: [position, hash, at, first, rows] }
    })
    return rows
  })
}
