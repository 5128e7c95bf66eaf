import { jackfield } from './guests/jackfield.ts'
import { officialV2, officialV2Modern } from './offers/official-v2.ts'
import { onHttp, onStdio, program } from './suite/launch.ts'
import { describePair } from './suite/pair.ts'

const main = 'official-v2/main.ts'
const { command, args } = program(main, 'stdio')
const modern = {
  guest: jackfield,
  server: 'official SDK v2',
  ourServer: false,
  offer: officialV2Modern,
  revision: '2026-07-28',
} as const
const legacy = { ...modern, offer: officialV2, revision: '2025-11-25' } as const

describePair({ ...modern, transport: 'stdio', start: onStdio(command, args) })
describePair({ ...modern, transport: 'http', start: onHttp(main, 'http', 'http') })
describePair({ ...legacy, transport: 'stdio', only: true, start: onStdio(command, args) })
describePair({ ...legacy, transport: 'http', start: onHttp(main, 'http', 'sessions') })
