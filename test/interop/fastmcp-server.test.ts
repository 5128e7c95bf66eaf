import { jackfield } from './guests/jackfield.ts'
import { fastmcp } from './offers/fastmcp.ts'
import { onHttp, onStdio, program } from './suite/launch.ts'
import { describePair } from './suite/pair.ts'

const main = 'fastmcp/main.ts'
const { command, args } = program(main, 'stdio')
const common = { guest: jackfield, server: 'fastmcp', ourServer: false, offer: fastmcp } as const

describePair({ ...common, transport: 'stdio', revision: '2025-11-25', start: onStdio(command, args) })
describePair({ ...common, transport: 'http', revision: '2025-11-25', start: onHttp(main, 'http', 'http') })
