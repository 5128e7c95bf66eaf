import { mkdtempSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ProtocolVersion } from '@jackfield/sdk'
import { type Client, type ConnectOptions, connect } from '@jackfield/sdk/client'
import { socket } from '@jackfield/sdk/client/socket'
import { stdio } from '@jackfield/sdk/client/stdio'
import { type ServeHttpOptions, serveHttp } from '@jackfield/sdk/http'
import { serveSocket } from '@jackfield/sdk/socket'
import { buildSync } from 'esbuild'
import {
  dialHttp,
  dialLines,
  dialMemory,
  dialProcess,
  dialSse,
  type RawConnection,
  type Receive,
} from './dial.ts'
import { type Kind, kinds } from './kinds.ts'
import {
  type MessageHandler,
  type ScriptedTarget,
  scriptedHttp,
  scriptedLines,
  scriptedMemory,
  scriptedSse,
} from './scripted-target.ts'
import { type ServerName, servers } from './servers.ts'

/** A server that can be reached. */
export interface Served {
  /** Connects a client of its own. */
  connect(options?: ConnectOptions): Promise<Client>
  /** Connects to the server without our client. */
  dial(receive: Receive): Promise<RawConnection>
  close(): Promise<void>
}

/** A transport between a client and a server. */
export interface Transport {
  readonly name: Kind
  /** The revisions that can be negotiated over it. */
  readonly revisions: readonly ProtocolVersion[]
  /** Serves one of the servers there are. */
  open(name: ServerName): Promise<Served>
  /** Serves a scripted server. */
  serveScript(part: MessageHandler): Promise<ScriptedTarget>
}

const keys = ['matrix'.repeat(8)]
/**
 * The program in one file, which starts in a fraction of the time that its hundred modules take. It stays as long as the
 * run's folder, because files of tests share it.
 */
const program = join(mkdtempSync(join(tmpdir(), 'jackfield-matrix-')), 'program.mjs')
buildSync({
  entryPoints: [fileURLToPath(new URL('./matrix-program.ts', import.meta.url))],
  outfile: program,
  bundle: true,
  platform: 'node',
  format: 'esm',
})

/** A process that forwards its standard streams, byte for byte. */
const relay = `
  const far = require('node:net').connect(process.argv[1])
  process.stdin.pipe(far).pipe(process.stdout)
  far.on('close', () => process.exit())`

/** Tasks are for their owner, whom only HTTP identifies. */
const authenticate: ServeHttpOptions['authenticate'] = async () => ({ principal: 'ada' })
const optionsFor = (name: ServerName): ServeHttpOptions =>
  name === 'tasks' ? { keys, authenticate } : { keys }

async function scratch(): Promise<{ path: string; remove(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'jackfield-'))
  return { path: join(folder, 'mcp.sock'), remove: () => rm(folder, { recursive: true, force: true }) }
}

const inMemory: Transport = {
  name: 'memory',
  revisions: kinds.memory,
  async open(name) {
    const server = servers[name]()
    return {
      connect: (options) => connect(server, options),
      dial: (receive) => dialMemory(server, receive),
      close: async () => {},
    }
  },
  serveScript: async (part) => scriptedMemory(part),
}

/** Where programs keep their compiled code for the next start; servers do not inherit it. */
const { NODE_COMPILE_CACHE } = process.env
const env = NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }

/** Serves in a process of its own for each client; a part is played here, behind a process that hands it on. */
const childProcess: Transport = {
  name: 'stdio',
  revisions: kinds.stdio,
  open: async (name) => ({
    connect: (options) => connect(stdio({ command: process.execPath, args: [program, name], env }), options),
    dial: (receive) => dialProcess([program, name], receive),
    close: async () => {},
  }),
  async serveScript(part) {
    const { path, remove } = await scratch()
    const { close } = await scriptedLines(part, path)
    return {
      target: stdio({ command: process.execPath, args: ['-e', relay, path] }),
      async close() {
        await close()
        await remove()
      },
    }
  },
}

const streamableHttp: Transport = {
  name: 'streamable http',
  revisions: kinds['streamable http'],
  async open(name) {
    const { url, close } = await serveHttp(servers[name](), optionsFor(name)).listen()
    return {
      connect: (options) => connect(url, options),
      dial: async (receive) => dialHttp(new URL(url), receive),
      close,
    }
  },
  serveScript: scriptedHttp,
}

const unixSocket: Transport = {
  name: 'unix socket',
  revisions: kinds['unix socket'],
  async open(name) {
    const { path, remove } = await scratch()
    const served = await serveSocket(servers[name](), { path }, { keys })
    return {
      connect: (options) => connect(socket({ path }), options),
      dial: (receive) => dialLines({ path }, receive),
      async close() {
        await served.close()
        await remove()
      },
    }
  },
  async serveScript(part) {
    const { path, remove } = await scratch()
    const { target, close } = await scriptedLines(part, path)
    return {
      target,
      async close() {
        await close()
        await remove()
      },
    }
  },
}

const tcp: Transport = {
  name: 'tcp',
  revisions: kinds.tcp,
  async open(name) {
    const served = await serveSocket(servers[name](), { port: 0 }, { keys })
    const { address } = served
    return {
      connect: (options) => connect(socket(address), options),
      dial: (receive) => dialLines({ host: '127.0.0.1', ...address }, receive),
      close: () => served.close(),
    }
  },
  serveScript: (part) => scriptedLines(part),
}

/** Found by the client itself, behind a URL that it first takes for Streamable HTTP. */
const httpAndSse: Transport = {
  name: 'http+sse',
  revisions: kinds['http+sse'],
  async open(name) {
    const { url, close } = await serveHttp(servers[name](), { ...optionsFor(name), sse: '/sse' }).listen()
    const there = new URL('/sse', url)
    return {
      connect: (options) => connect(there, options),
      dial: (receive) => dialSse(there, receive),
      close,
    }
  },
  serveScript: scriptedSse,
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
