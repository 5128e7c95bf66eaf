import { mkdtempSync, rmSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type ProtocolVersion, protocolVersions, type Server } from '@jackfield/sdk'
import { type Client, type ConnectOptions, connect } from '@jackfield/sdk/client'
import { socket } from '@jackfield/sdk/client/socket'
import { stdio } from '@jackfield/sdk/client/stdio'
import { serveHttp } from '@jackfield/sdk/http'
import { serveSocket } from '@jackfield/sdk/socket'
import { buildSync } from 'esbuild'
import { afterAll } from 'vitest'

/** One way for a client and a server to meet. */
export interface Transport {
  name: string
  /** What can be agreed on over it. */
  revisions: readonly ProtocolVersion[]
  /** Serves a server; each `connect` is a client of its own. */
  open(server: Server): Promise<{
    connect(options?: ConnectOptions): Promise<Client>
    close(): Promise<void>
  }>
}

const keys = ['matrix'.repeat(8)]
/** The program in one file, which starts in a fraction of the time that its hundred modules take. */
const program = join(mkdtempSync(join(tmpdir(), 'jackfield-matrix-')), 'program.mjs')
buildSync({
  entryPoints: [fileURLToPath(new URL('./matrix-program.ts', import.meta.url))],
  outfile: program,
  bundle: true,
  platform: 'node',
  format: 'esm',
})
afterAll(() => rmSync(dirname(program), { recursive: true, force: true }))

const inMemory: Transport = {
  name: 'memory',
  revisions: protocolVersions,
  open: async (server) => ({
    connect: (options) => connect(server, options),
    close: async () => {},
  }),
}

/** Serves what `matrix-server.ts` makes, in a process of its own: a server value cannot be handed to one. */
const childProcess: Transport = {
  name: 'stdio',
  revisions: protocolVersions,
  open: async () => ({
    connect: (options) => connect(stdio({ command: process.execPath, args: [program] }), options),
    close: async () => {},
  }),
}

const streamableHttp: Transport = {
  name: 'streamable http',
  revisions: protocolVersions,
  async open(server) {
    const handler = serveHttp(server, { keys })
    const { url, close } = await handler.listen()
    return { connect: (options) => connect(url, options), close }
  },
}

const unixSocket: Transport = {
  name: 'unix socket',
  revisions: protocolVersions,
  async open(server) {
    const folder = await mkdtemp(join(tmpdir(), 'jackfield-'))
    const path = join(folder, 'mcp.sock')
    const served = await serveSocket(server, { path }, { keys })
    return {
      connect: (options) => connect(socket({ path }), options),
      async close() {
        await served.close()
        await rm(folder, { recursive: true })
      },
    }
  },
}

const tcp: Transport = {
  name: 'tcp',
  revisions: protocolVersions,
  async open(server) {
    const served = await serveSocket(server, { port: 0 }, { keys })
    const { address } = served
    return { connect: (options) => connect(socket(address), options), close: () => served.close() }
  },
}

/** Found by the client itself, behind a URL that it first takes for Streamable HTTP. */
const httpAndSse: Transport = {
  name: 'http+sse',
  revisions: protocolVersions.filter((version) => version < '2026-07-28'),
  async open(server) {
    const handler = serveHttp(server, { keys, sse: '/sse' })
    const { url, close } = await handler.listen()
    return { connect: (options) => connect(new URL('/sse', url), options), close }
  },
}

/** Every transport there is. */
export const transports: readonly Transport[] = [
  inMemory,
  childProcess,
  unixSocket,
  tcp,
  streamableHttp,
  httpAndSse,
]
