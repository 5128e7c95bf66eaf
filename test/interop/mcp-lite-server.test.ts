import { jackfield } from './guests/jackfield.ts'
import { mcpLite, mcpLiteOlder } from './offers/mcp-lite.ts'
import { onHttp } from './suite/launch.ts'
import { describePair } from './suite/pair.ts'

const common = {
  guest: jackfield,
  server: 'mcp-lite',
  ourServer: false,
  transport: 'http',
  start: onHttp('mcp-lite/main.ts', 'http'),
} as const

// Offered anything it does not know, it answers with its oldest revision, not with its newest.
describePair({ ...common, offer: mcpLiteOlder, revision: '2025-03-26' })
describePair({ ...common, offer: mcpLite, revision: '2025-06-18', only: true })
