import type { Host } from '@jackfield/host'
import { channelPair, createHostClient, type HostClient, type Notice } from '@jackfield/host/client'
import type { HostService } from '@jackfield/host/service'
import { daemonAddress, type HostChoice } from '../daemon/address.ts'
import { differingVariables } from '../daemon/environment.ts'
import { errorOfFault } from '../daemon/error-of-fault.ts'
import type { ServiceOptions } from '../daemon/service.ts'
import { type Io, writeNote } from './io.ts'

/** A host used by a command, until it is disposed. */
export interface OpenHost extends AsyncDisposable {
  readonly client: HostClient
  /** It is the host process of this folder, shared with other commands. */
  readonly isShared: boolean
  /** The host itself, if it is not shared. */
  readonly service?: HostService
}

/** Whether commands with these options use a host process that outlives them. */
export function usesDaemon({ daemon, store }: HostChoice, { env }: Pick<Io, 'env'>): boolean {
  return daemon !== false && store !== ':memory:' && env.JACKFIELD_DAEMON !== 'off'
}

/** Options for choosing the host of a command. */
export interface OpenHostOptions {
  /** Always uses a host in this process. */
  isLocal?: boolean
  /** Uses a running host process and starts none: for commands that start no servers. */
  onlyRunning?: boolean
  /** Settings for a host in this process, instead of the configuration. */
  localOptions?: () => Promise<ServiceOptions>
}

/**
 * Opens the host of the configured servers: the host process of this folder, or a host in this process with `--no-daemon`,
 * `--no-store` or JACKFIELD_DAEMON=off, or when the environment of this command differs. Its configuration is up to date; no
 * server is started yet. `name`: this command, as shown to the user.
 */
export async function openHost(
  choice: HostChoice,
  name: string,
  io: Io,
  { isLocal = false, onlyRunning = false, localOptions }: OpenHostOptions = {},
): Promise<OpenHost> {
  const shared = !isLocal && usesDaemon(choice, io) && hasWritableFolder(choice, io) ? choice : undefined
  const client = shared && (await connectSharedHost(shared, name, io, onlyRunning))
  if (client !== undefined)
    return {
      client,
      isShared: true,
      async [Symbol.asyncDispose]() {
        client.close()
      },
    }
  const { createService } = await import('../daemon/service.ts')
  const created = await createService(choice, io, await localOptions?.())
  return await createLocalHost(created.service, name, () => created[Symbol.asyncDispose]())
}

/** Connects to the host process; undefined if this command cannot use it. */
async function connectSharedHost(
  choice: HostChoice,
  name: string,
  io: Io,
  onlyRunning: boolean,
): Promise<HostClient | undefined> {
  const { attach, isRunning } = await import('../daemon/attach.ts')
  if (onlyRunning && !(await isRunning(choice, io))) return undefined
  const client = await attach(choice, name, io)
  await client.call('host.sync', {})
  const { environment, pid } = await client.call('host.status', {})
  const others = differingVariables(io.env, environment)
  if (others.length === 0) return client
  client.close()
  const names =
    others.length > 3 ? `${others.slice(0, 3).join(', ')} and ${others.length - 3} more` : others.join(', ')
  writeNote(
    io,
    `The host process ${pid} of this folder has different values of ${names}, so this command starts its servers itself. To use the new values: jackfield daemon stop`,
  )
  return undefined
}

/** Calls `listener` with each notice of the host, until the returned function is called. */
export function onNotice(client: HostClient, listener: (notice: Notice) => void): () => void {
  let last: number | undefined
  return client.subscribe('notices', {
    rows(view) {
      const newest = Math.max(-1, ...[...view.keys()].map(Number))
      // A replacement host numbers its notices from the start.
      const before = last === undefined ? newest : last > newest ? -1 : last
      last = newest
      for (const [key, notice] of view) if (Number(key) > before) listener(notice)
    },
  })
}

/** Whether a host process can write its files; with a read-only home, each command has its own host. */
function hasWritableFolder(choice: HostChoice, io: Io): boolean {
  try {
    daemonAddress(choice, io)
    return true
  } catch (error) {
    if (error instanceof Error && 'syscall' in error) return false
    throw error
  }
}

/** Creates a host in this process. Disposing the result closes it. */
export async function createLocalHost(
  service: HostService,
  name: string,
  close: () => PromiseLike<void> = () => service.close(),
): Promise<OpenHost & { readonly host: Host }> {
  const { createPeerServer } = await import('@jackfield/host/service')
  const peers = await createPeerServer(service, { isTrusted: true })
  const client = createHostClient({
    name,
    errorOf: errorOfFault,
    connect() {
      const [here, there] = channelPair()
      peers.serve(there)
      return here
    },
  })
  await client.ready()
  return {
    client,
    host: service.host,
    service,
    isShared: false,
    async [Symbol.asyncDispose]() {
      await close()
      client.close()
    },
  }
}
