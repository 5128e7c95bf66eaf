import { serveHttp } from '@jackfield/sdk/http'
import { jackfield } from './clients/jackfield.ts'
import { officialV1 as officialV1Client } from './clients/official-v1.ts'
import { officialV2 as officialV2Client } from './clients/official-v2.ts'
import { everything } from './offers/everything.ts'
import { fastmcp } from './offers/fastmcp.ts'
import { filesystem, withFiles } from './offers/filesystem.ts'
import { ours, oursModern } from './offers/jackfield.ts'
import { mcpLite, mcpLiteOlder } from './offers/mcp-lite.ts'
import { officialV1 } from './offers/official-v1.ts'
import { officialV2, officialV2Modern, officialV2Stateless } from './offers/official-v2.ts'
import { tmcpLegacy, tmcpModern } from './offers/tmcp.ts'
import { createFixture } from './peers/jackfield/definition.ts'
import { onHttp, onStdio, packaged, program } from './suite/launch.ts'
import type { Pair, Running } from './suite/pair.ts'

const legacy = '2025-11-25'
const modern = '2026-07-28'

/** This project's fixture over HTTP, in this process. */
async function inProcess(): Promise<Running> {
  const listening = await serveHttp(createFixture()).listen({ port: 0 })
  return { address: { url: listening.url, transport: 'http' }, stop: () => listening.close() }
}

/** The same over the HTTP+SSE transport of 2024-11-05. */
async function inProcessSse(): Promise<Running> {
  const listening = await serveHttp(createFixture(), { sse: '/sse' }).listen({ port: 0 })
  const url = new URL('/sse', listening.url).href
  return { address: { url, transport: 'sse' }, stop: () => listening.close() }
}

const ourServer = { server: 'jackfield', ourServer: true } as const
const ourProgram = program('jackfield/stdio.ts')
const ourStdio = { ...ourServer, transport: 'stdio', start: onStdio(ourProgram) } as const
const ourHttp = { ...ourServer, transport: 'http', start: inProcess } as const
const ourSse = { ...ourServer, transport: 'sse', start: inProcessSse } as const

/** Both sides are this project's, to distinguish a failure of the suite from one of a peer. */
export const bothOurs: Pair[] = [
  { ...ourHttp, client: jackfield, offer: oursModern, revision: modern },
  { ...ourStdio, client: jackfield, offer: oursModern, revision: modern },
  { ...ourHttp, client: jackfield, offer: ours, revision: legacy, only: true },
  { ...ourStdio, client: jackfield, offer: ours, revision: legacy, only: true },
]

export const officialV1Clients: Pair[] = [
  { ...ourStdio, client: officialV1Client, offer: ours, revision: legacy },
  { ...ourHttp, client: officialV1Client, offer: ours, revision: legacy },
  { ...ourSse, client: officialV1Client, offer: ours, revision: legacy },
]

export const officialV2Clients: Pair[] = [
  { ...ourStdio, client: officialV2Client, offer: oursModern, revision: modern },
  { ...ourStdio, client: officialV2Client, offer: ours, revision: legacy },
  { ...ourHttp, client: officialV2Client, offer: oursModern, revision: modern },
  ...(['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const).map(
    (revision): Pair => ({ ...ourHttp, client: officialV2Client, offer: ours, revision }),
  ),
  { ...ourSse, client: officialV2Client, offer: ours, revision: '2024-11-05' },
]

const v1 = { client: jackfield, server: 'official server v1', ourServer: false, offer: officialV1 } as const
const v1Program = 'official-v1/main.ts'

export const officialV1Servers: Pair[] = [
  { ...v1, transport: 'stdio', revision: legacy, start: onStdio(program(v1Program, 'stdio')) },
  { ...v1, transport: 'sse', revision: legacy, start: onHttp(v1Program, 'sse', 'sse') },
  { ...v1, transport: 'http', revision: legacy, start: onHttp(v1Program, 'http', 'http') },
  ...(['2025-06-18', '2025-03-26', '2024-11-05'] as const).map(
    (revision): Pair => ({
      ...v1,
      transport: 'http',
      revision,
      only: true,
      start: onHttp(v1Program, 'http', 'http'),
    }),
  ),
]

const v2 = { client: jackfield, server: 'official server v2', ourServer: false } as const
const v2Program = 'official-v2/main.ts'
const v2Stdio = { ...v2, transport: 'stdio', start: onStdio(program(v2Program, 'stdio')) } as const
const v2Http = { ...v2, transport: 'http', start: onHttp(v2Program, 'http', 'http') } as const
const v2Sessions = { ...v2, transport: 'http', start: onHttp(v2Program, 'http', 'sessions') } as const

export const officialV2Servers: Pair[] = [
  { ...v2Stdio, offer: officialV2Modern, revision: modern },
  { ...v2Http, offer: officialV2Modern, revision: modern },
  { ...v2Stdio, offer: officialV2, revision: legacy, only: true },
  { ...v2Sessions, offer: officialV2, revision: legacy },
  { ...v2Http, offer: officialV2Stateless, revision: legacy, only: true, how: 'without sessions' },
]

const reference = { client: jackfield, ourServer: false, revision: legacy } as const
const demo = { ...reference, server: 'server-everything', offer: everything } as const
const demoProgram = packaged('@modelcontextprotocol/server-everything', 'stdio')

export const referenceServers: Pair[] = [
  { ...demo, transport: 'stdio', start: onStdio(demoProgram) },
  { ...demo, transport: 'http', start: onHttp('everything.ts', 'http', 'streamableHttp') },
  { ...demo, transport: 'sse', start: onHttp('everything.ts', 'sse', 'sse') },
  {
    ...reference,
    server: 'server-filesystem',
    offer: filesystem,
    transport: 'stdio',
    start: withFiles((folder) => onStdio(packaged('@modelcontextprotocol/server-filesystem', folder))),
  },
]

const tmcp = { client: jackfield, server: 'tmcp', ourServer: false } as const
const tmcpStdio = { ...tmcp, transport: 'stdio', start: onStdio(program('tmcp/main.ts', 'stdio')) } as const
const tmcpHttp = { ...tmcp, transport: 'http', start: onHttp('tmcp/main.ts', 'http', 'http') } as const

export const tmcpServers: Pair[] = [
  { ...tmcpStdio, offer: tmcpModern('stdio'), revision: modern },
  { ...tmcpHttp, offer: tmcpModern('http'), revision: modern },
  { ...tmcpStdio, offer: tmcpLegacy('stdio'), revision: '2025-06-18', only: true },
  ...(['2025-06-18', '2025-03-26', '2024-11-05'] as const).map(
    (revision): Pair => ({ ...tmcpHttp, offer: tmcpLegacy('http'), revision, only: true }),
  ),
]

const lite = {
  client: jackfield,
  server: 'mcp-lite',
  ourServer: false,
  transport: 'http',
  start: onHttp('mcp-lite/main.ts', 'http'),
} as const

export const mcpLiteServers: Pair[] = [
  // Offered a revision it does not know, it answers with its oldest.
  { ...lite, offer: mcpLiteOlder, revision: '2025-03-26' },
  { ...lite, offer: mcpLite, revision: '2025-06-18', only: true },
]

const fast = {
  client: jackfield,
  server: 'fastmcp',
  ourServer: false,
  offer: fastmcp,
  revision: legacy,
} as const

export const fastmcpServers: Pair[] = [
  { ...fast, transport: 'stdio', start: onStdio(program('fastmcp/main.ts', 'stdio')) },
  { ...fast, transport: 'http', start: onHttp('fastmcp/main.ts', 'http', 'http') },
]

/** Every pair there is. */
export const pairs: Pair[] = [
  ...officialV1Servers,
  ...officialV2Servers,
  ...referenceServers,
  ...tmcpServers,
  ...mcpLiteServers,
  ...fastmcpServers,
  ...officialV1Clients,
  ...officialV2Clients,
  ...bothOurs,
]
