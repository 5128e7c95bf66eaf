import { jackfield } from './guests/jackfield.ts'
import { officialV1 } from './offers/official-v1.ts'
import { onHttp, onStdio, program } from './suite/launch.ts'
import { describePair } from './suite/pair.ts'

const main = 'official-v1/main.ts'
const { command, args } = program(main, 'stdio')
const common = { guest: jackfield, server: 'official SDK v1', ourServer: false, offer: officialV1 } as const

describePair({ ...common, transport: 'stdio', revision: '2025-11-25', start: onStdio(command, args) })
describePair({ ...common, transport: 'http', revision: '2025-11-25', start: onHttp(main, 'http', 'http') })
describePair({ ...common, transport: 'sse', revision: '2025-11-25', start: onHttp(main, 'sse', 'sse') })
for (const revision of ['2025-06-18', '2025-03-26', '2024-11-05'] as const) {
  describePair({ ...common, transport: 'http', revision, only: true, start: onHttp(main, 'http', 'http') })
}
