import { officialV1 } from './guests/official-v1.ts'
import { officialV2 } from './guests/official-v2.ts'
import { ours, oursModern } from './offers/jackfield.ts'
import { inProcess } from './suite/ours.ts'
import { onStdio, program } from './suite/launch.ts'
import { describePair } from './suite/pair.ts'

const { command, args } = program('jackfield/stdio.ts')
const onPipes = onStdio(command, args)
const common = { server: 'jackfield', ourServer: true } as const

describePair({ ...common, guest: officialV1, offer: ours, transport: 'stdio', revision: '2025-11-25', start: onPipes })
describePair({ ...common, guest: officialV1, offer: ours, transport: 'http', revision: '2025-11-25', start: inProcess })
for (const revision of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'] as const) {
  const offer = revision === '2026-07-28' ? oursModern : ours
  describePair({ ...common, guest: officialV2, offer, transport: 'http', revision, start: inProcess })
}
describePair({ ...common, guest: officialV2, offer: ours, transport: 'stdio', revision: '2025-11-25', start: onPipes })
describePair({ ...common, guest: officialV2, offer: oursModern, transport: 'stdio', revision: '2026-07-28', start: onPipes })
