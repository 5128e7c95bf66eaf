import { jackfield } from './guests/jackfield.ts'
import { ours, oursModern } from './offers/jackfield.ts'
import { onStdio, program } from './suite/launch.ts'
import { inProcess } from './suite/ours.ts'
import { describePair } from './suite/pair.ts'

const { command, args } = program('jackfield/stdio.ts')
const modern = {
  guest: jackfield,
  server: 'jackfield',
  ourServer: true,
  offer: oursModern,
  revision: '2026-07-28',
} as const
const legacy = { ...modern, offer: ours, revision: '2025-11-25', only: true } as const

for (const pair of [modern, legacy]) {
  describePair({ ...pair, transport: 'http', start: inProcess })
  describePair({ ...pair, transport: 'stdio', start: onStdio(command, args) })
}
