import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { createHost, type HostOptions } from '@jackfield/host'
import { streamChannel } from '@jackfield/host/client'
import { createPeerServer, HostService } from '@jackfield/host/service'
import { serveSocket } from '@jackfield/sdk/socket'
import { plainHost, servePlain } from '../plain-host.ts'

/**
 * A host with one server on a Unix socket: for clients of the host, or as a gateway; or a plain program in its place.
 * Usage: host-process.ts <service|gateway|plain-service|plain-gateway> <store> <socket>
 */

const [kind, store = '', path = ''] = process.argv.slice(2)
const program = fileURLToPath(new URL('jackfield-stdio.ts', import.meta.url))
const server = { command: process.execPath, args: [program, '--tools', '10'] }
const servers = { bench: server }
const options: HostOptions = { servers, models: [], store, defaultVerdict: 'allow' }

if (kind === 'service') {
  const service = new HostService({ ...options, version: 'bench' })
  await service.start()
  const peers = await createPeerServer(service)
  const socket = createServer((stream) => peers.serve(streamChannel(stream)))
  await new Promise<void>((resolve) => socket.listen(path, resolve))
} else if (kind?.startsWith('plain-') === true) {
  await servePlain(await plainHost(server, store), path)
} else {
  const host = createHost(options)
  await host.start()
  await serveSocket(host.gateway.open().server, { path })
}
process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send?.({ cpu: user + system })
})
process.on('disconnect', () => process.exit(0))
process.send?.({ ready: true })
