import type { Host } from '@jackfield/host'
import { channelPair, createHostClient, type HostClient } from '@jackfield/host/client'
import type { HostService } from '@jackfield/host/service'
import { daemonAddress, type HostChoice } from '../daemon/address.ts'
import { differing } from '../daemon/environment.ts'
import { errorOfFault } from '../daemon/faults.ts'
import { type Io, writeNote } from './io.ts'

/** A host that a command uses, until it is disposed of. */
export interface OpenHost extends AsyncDisposable {
  readonly client: HostClient
  /** It is the host process of this folder, which other commands use too. */
  readonly isShared: boolean
  /** The host itself, where it is not shared. */
  readonly service?: HostService
}

/** Whether commands with these options use a host process that outlives them. */
export function usesDaemon({ daemon, store }: HostChoice, { env }: Pick<Io, 'env'>): boolean {
  return daemon !== false && store !== ':memory:' && env.JACKFIELD_DAEMON !== 'off'
}

/**
 * The host of the configured servers: that of the host process for this folder, or one of this process with `--no-daemon`,
 * `--no-store` or JACKFIELD_DAEMON=off, and where the environment of this command is another one. Its configuration is up
 * to date; no server is started yet. `name`: this command, for the person.
 */
export async function openHost(choice: HostChoice, name: string, io: Io): Promise<OpenHost> {
  if (usesDaemon(choice, io) && hasFolder(choice, io)) {
    const { attach } = await import('../daemon/attach.ts')
    const client = await attach(choice, name, io)
    await client.call('host.sync', {})
    const { environment, pid } = await client.call('host.status', {})
    const others = differing(io.env, environment)
    if (others.length > 0) {
      client.close()
      const names =
        others.length > 3
          ? `${others.slice(0, 3).join(', ')} and ${others.length - 3} more`
          : others.join(', ')
      writeNote(
        io,
        `The host process ${pid} of this folder has other values of ${names}, so this command starts its servers itself. To use the new values: jackfield daemon stop`,
      )
      return openHost({ ...choice, daemon: false }, name, io)
    }
    return {
      client,
      isShared: true,
      async [Symbol.asyncDispose]() {
        client.close()
      },
    }
  }
  const { createService } = await import('../daemon/service.ts')
  const made = await createService(choice, io)
  return await hostHere(made.service, name, () => made[Symbol.asyncDispose]())
}

/** Whether a host process can have its files: in a read-only home, each command has a host of its own. */
function hasFolder(choice: HostChoice, io: Io): boolean {
  try {
    daemonAddress(choice, io)
    return true
  } catch (error) {
    if (error instanceof Error && 'syscall' in error) return false
    throw error
  }
}

/** A host of this process. It is closed with what is returned. */
export async function hostHere(
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
