import { jackfield } from './guests/jackfield.ts'
import { tmcpLegacy, tmcpModern } from './offers/tmcp.ts'
import { onHttp, onStdio, program } from './suite/launch.ts'
import { describePair } from './suite/pair.ts'

const main = 'tmcp/main.ts'
const { command, args } = program(main, 'stdio')
const common = { guest: jackfield, server: 'tmcp', ourServer: false } as const
const stdio = { ...common, transport: 'stdio', start: onStdio(command, args) } as const
const http = { ...common, transport: 'http', start: onHttp(main, 'http', 'http') } as const

describePair({ ...stdio, offer: tmcpModern('stdio'), revision: '2026-07-28' })
describePair({ ...http, offer: tmcpModern('http'), revision: '2026-07-28' })
describePair({ ...stdio, offer: tmcpLegacy('stdio'), revision: '2025-06-18', only: true })
for (const revision of ['2025-06-18', '2025-03-26', '2024-11-05'] as const) {
  describePair({ ...http, offer: tmcpLegacy('http'), revision, only: true })
}
