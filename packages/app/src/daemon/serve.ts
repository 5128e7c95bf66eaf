import { randomBytes, timingSafeEqual } from 'node:crypto'
import { chmodSync, existsSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { DatabaseSync } from 'node:sqlite'
import { type Channel, createPeerServer, streamChannel } from '@jackfield/host/service'
import { CliError, ExitCode } from '../cli/exit.ts'
import { type Io, writeNote } from '../cli/io.ts'
import { storeFile } from '../cli/store.ts'
import {
  type DaemonAddress,
  daemonAddress,
  type HostChoice,
  removeRecord,
  sessionsFile,
  writeRecord,
} from './address.ts'
import { buildId } from './build-id.ts'
import { createService } from './service.ts'
import { DaemonWebServer } from './web-server.ts'

/** Milliseconds without clients and work after which the host process exits. */
const idleMs = 300_000
/** Interval in milliseconds of checking that its files still exist. */
const pollMs = 5_000

export interface ServeOptions extends HostChoice {
  /** Seconds without clients and work after which the process exits. Default 300. */
  idle?: number
}

/**
 * Runs the host process for these settings until it is idle, is asked to stop, or `io.signal` aborts. Only one process can serve
 * them: a second one exits at once.
 */
export async function serveDaemon(options: ServeOptions, io: Io): Promise<ExitCode> {
  const address = daemonAddress(options, io)
  const lock = acquireLock(address)
  if (lock === undefined) return ExitCode.done
  const ended = Promise.withResolvers<void>()
  try {
    const build = buildId()
    let stopping = false
    await using created = await createService(options, io, {
      build,
      onStop(now) {
        stopping = true
        // The response to the requesting client is sent first.
        setImmediate(() => (now ? ended.resolve() : check()))
      },
    })
    const { service } = created
    const peers = await createPeerServer(service)
    const idle = (options.idle ?? idleMs / 1_000) * 1_000
    let idleSince = performance.now()
    const check = (): void => {
      const isFree = !service.busy && (stopping || peers.count === 0)
      if (!isFree) idleSince = performance.now()
      if (isFree && (stopping || performance.now() - idleSince >= idle)) ended.resolve()
      // If the data folder was removed, the process exits.
      if (!existsSync(address.file)) ended.resolve()
    }
    peers.onChange(check)
    const token = randomBytes(24).toString('base64url')
    const web = new DaemonWebServer({
      service,
      peers,
      file: sessionsFile(address),
      onWarning: (warning) => writeNote(io, `! ${warning}`),
    })
    const server = await listen(address, (channel) =>
      peers.serve(web.intercept(requireToken(channel, token))),
    )
    writeRecord(address, {
      pid: process.pid,
      token,
      build,
      since: new Date().toISOString(),
      workspace: io.cwd,
      store: storeFile(options.store, io),
    })
    const timer = setInterval(check, Math.min(pollMs, Math.max(idle / 4, 20)))
    const end = (): void => ended.resolve()
    io.signal.addEventListener('abort', end, { once: true })
    if (io.signal.aborted) end()
    await ended.promise
    clearInterval(timer)
    // From here on, a client starts another process.
    removeRecord(address)
    server.close()
    await web.close()
    peers.close('the host ends')
    return ExitCode.done
  } finally {
    lock.close()
  }
}

/** Takes a lock that the system releases whenever this process exits; undefined if another process holds it. */
function acquireLock({ lock }: DaemonAddress): DatabaseSync | undefined {
  const database = new DatabaseSync(lock, { timeout: 0 })
  try {
    chmodSync(lock, 0o600)
    database.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
    return database
  } catch {
    database.close()
    return undefined
  }
}

/** Only the lock holder gets here, so an existing socket file was left by a killed process. */
async function listen({ socket }: DaemonAddress, serve: (channel: Channel) => void): Promise<Server> {
  if (process.platform !== 'win32') rmSync(socket, { force: true })
  const server = createServer((stream) => serve(streamChannel(stream)))
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) =>
      reject(new CliError(ExitCode.usage, `The host process cannot listen on ${socket}: ${error.message}`)),
    )
    server.listen(socket, resolve)
  })
  if (process.platform !== 'win32') chmodSync(socket, 0o600)
  return server
}

/** A channel whose first frame must be the token. */
function requireToken(channel: Channel, token: string): Channel {
  const expected = Buffer.from(token)
  return {
    get unsent() {
      return channel.unsent
    },
    send: (frame) => channel.send(frame),
    close: (reason) => channel.close(reason),
    listen(message, closed) {
      let isOpen = false
      channel.listen((frame) => {
        if (isOpen) return message(frame)
        const received = Buffer.from(frame)
        if (received.length === expected.length && timingSafeEqual(received, expected)) isOpen = true
        else channel.close('the token is wrong')
      }, closed)
    },
  }
}
