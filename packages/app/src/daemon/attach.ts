import { spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { type Channel, createHostClient, type HostClient, streamChannel } from '@jackfield/host/client'
import { CliError, ExitCode } from '../cli/exit.ts'
import type { Io } from '../cli/io.ts'
import { type DaemonAddress, daemonAddress, type HostChoice, readRecord } from './address.ts'
import { buildId, programFile } from './build-id.ts'
import { errorOfFault } from './error-of-fault.ts'

/** Milliseconds within which a host process must accept connections. */
const maxStartMs = 15_000
/** Interval in milliseconds of checking for that. */
const pollMs = 15
/** Milliseconds within which a host process of another build must exit. */
const maxStopMs = 10_000
/** Milliseconds for the host process and its servers to respond with a completion or a hint. */
const maxHintMs = 1_500

/**
 * Attaches to the host process for these settings, starting one if needed. If it is lost, another one is started.
 * @throws CliError if none can be started, with the end of its log
 */
export async function attach(choice: HostChoice, name: string, io: Io): Promise<HostClient> {
  const address = daemonAddress(choice, io)
  const build = buildId()
  const first = await connectOrStart(address, choice, io)
  let waiting: Channel | undefined = first
  const client = createHostClient({
    name,
    build,
    errorOf: errorOfFault,
    async connect() {
      const channel = waiting ?? (await connectOrStart(address, choice, io))
      waiting = undefined
      return channel
    },
  })
  await client.ready()
  return client
}

/** Connects to the host process for these settings, starting one if needed. The first frame is not sent yet. */
export function openChannel(choice: HostChoice, io: Io): Promise<Channel> {
  return connectOrStart(daemonAddress(choice, io), choice, io)
}

/** Whether a host process of this build runs for these settings. */
export async function isRunning(choice: HostChoice, io: Io): Promise<boolean> {
  const address = daemonAddress(choice, io)
  if (readRecord(address)?.build !== buildId()) return false
  const channel = await connectTo(address)
  channel?.close()
  return channel !== undefined
}

/** Connects to the host process of an address, if it runs this build. */
export async function connectTo(address: DaemonAddress): Promise<Channel | undefined> {
  const record = readRecord(address)
  if (record === undefined) return undefined
  const socket = await whenConnected(connect(address.socket))
  if (socket === undefined) return undefined
  const channel = streamChannel(socket)
  channel.send(record.token)
  return channel
}

/** Runs an operation at the host process of an address; undefined if none runs. `name` identifies the client. */
export async function withRunningHost<T>(
  address: DaemonAddress,
  name: string,
  work: (call: HostClient['call']) => Promise<T>,
): Promise<T | undefined> {
  const channel = await connectTo(address)
  if (channel === undefined) return undefined
  const client = createHostClient({
    name,
    build: buildId(),
    errorOf: errorOfFault,
    connect: () => channel,
    // The process may exit before it responds, so a lost connection is not reopened.
    onState({ state }) {
      if (state === 'connecting') client.close()
    },
  })
  try {
    await client.ready()
    return await work((method, params, options) => client.call(method, params, options))
  } finally {
    client.close()
  }
}

/** As `withRunningHost`, for help beside other work: undefined also if the host process does not respond soon. */
export async function askRunningHost<T>(
  choice: HostChoice,
  io: Pick<Io, 'env' | 'cwd'>,
  name: string,
  work: (call: HostClient['call']) => Promise<T>,
): Promise<T | undefined> {
  const timeout = AbortSignal.timeout(maxHintMs)
  const waited = new Promise<undefined>((resolve) =>
    timeout.addEventListener('abort', () => resolve(undefined)),
  )
  return await Promise.race([waited, withRunningHost(daemonAddress(choice, io), name, work)])
}

async function connectOrStart(address: DaemonAddress, choice: HostChoice, io: Io): Promise<Channel> {
  const deadline = performance.now() + maxStartMs
  if (readRecord(address)?.build !== buildId()) await stopOtherBuild(address)
  const known = await connectTo(address)
  if (known !== undefined) return known
  const start = startDaemon(address, choice, io)
  try {
    for (;;) {
      const channel = await connectTo(address)
      if (channel !== undefined) return channel
      if (start.failed()) throw startFailure(address, 'it ended')
      if (performance.now() > deadline)
        throw startFailure(address, `it does not answer within ${maxStartMs / 1_000} s`)
      await new Promise((resolve) => setTimeout(resolve, pollMs))
      io.signal.throwIfAborted()
    }
  } finally {
    start.release()
  }
}

/**
 * Stops a host process of another build. Its open questions stay in the store, and its suspended calls continue in the next
 * process.
 */
async function stopOtherBuild(address: DaemonAddress): Promise<void> {
  const record = readRecord(address)
  if (record === undefined) return
  const channel = await connectTo(address)
  if (channel === undefined) return
  const closed = new Promise<void>((resolve) =>
    channel.listen(
      () => {},
      () => resolve(),
    ),
  )
  channel.send(
    JSON.stringify({ hello: { client: crypto.randomUUID(), name: 'jackfield', build: buildId() } }),
  )
  channel.send(JSON.stringify({ call: 1, method: 'host.stop', params: { now: true } }))
  const timer = setTimeout(() => channel.close(), maxStopMs)
  await closed
  clearTimeout(timer)
}

function startDaemon(
  address: DaemonAddress,
  choice: HostChoice,
  io: Io,
): { failed(): boolean; release(): void } {
  const log = openSync(address.log, 'a', 0o600)
  const child = spawn(process.execPath, [programFile, 'daemon', 'serve', ...optionWords(choice)], {
    cwd: io.cwd,
    env: io.env,
    detached: true,
    stdio: ['ignore', log, log],
    windowsHide: true,
  })
  closeSync(log)
  let isOver = false
  // Without an error, another process serves or is about to.
  child.once('exit', (code) => {
    isOver = code !== 0
  })
  child.once('error', () => {
    isOver = true
  })
  return { failed: () => isOver, release: () => child.unref() }
}

/** The settings as command line options. */
function optionWords({ store, config, profile, discover, startWhatThisFolderNames }: HostChoice): string[] {
  return [
    ...(store === undefined ? [] : ['--store', store]),
    ...[config ?? []].flat().flatMap((file) => ['--config', file]),
    ...(profile === undefined ? [] : ['--profile', profile]),
    ...(discover === true ? ['--discover'] : []),
    ...(startWhatThisFolderNames === true ? ['--start-what-this-folder-names'] : []),
  ]
}

function startFailure({ log }: DaemonAddress, why: string): CliError {
  let last = ''
  try {
    last = readFileSync(log, 'utf8').trim().split('\n').slice(-5).join('\n  ')
  } catch {
    // Without a log there is nothing to add.
  }
  const output = last === '' ? '' : `\nIts last messages (${log}):\n  ${last}`
  return new CliError(
    ExitCode.cannotConnect,
    `The host process could not be started: ${why}. Run with --no-daemon to work without it.${output}`,
  )
}

function whenConnected(socket: Socket): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    socket.once('connect', () => resolve(socket))
    socket.once('error', () => resolve(undefined))
  })
}
