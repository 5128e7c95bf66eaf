import { connect as connectSocket } from 'node:net'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createHost } from '@jackfield/host'
import { createHostClient, streamChannel } from '@jackfield/host/client'
import { connect } from '@jackfield/sdk/client'
import { socket } from '@jackfield/sdk/client/socket'
import { stdio } from '@jackfield/sdk/client/stdio'
import { plainClient, plainHost } from '../plain-host.ts'

/**
 * Calls one tool in one way, for as long as the parent process asks, and reports how often and at what cost.
 * Usage: host-calls.ts <client|host|service|gateway|plain-host|plain-service|plain-gateway> <store or socket>
 */

const [kind = '', place = ''] = process.argv.slice(2)
const program = fileURLToPath(new URL('../servers/jackfield-stdio.ts', import.meta.url))
const server = { command: process.execPath, args: [program, '--tools', '10'] }

const call = await caller()
process.on('message', ({ ms, together }: { ms: number; together: number }) => {
  run(ms, together).then(
    (done) => process.send?.(done),
    (error: Error) => process.send?.({ failure: error.message }),
  )
})
process.on('disconnect', () => process.exit(0))
process.send?.({ ready: true })

async function caller(): Promise<() => Promise<unknown>> {
  switch (kind) {
    case 'client': {
      const client = await connect(stdio({ ...server, cwd: dirname(program) }))
      return () => client.call('echo', { text: 'Hello' })
    }
    case 'host': {
      const host = createHost({
        servers: { bench: server },
        models: [],
        store: place,
        defaultVerdict: 'allow',
      })
      await host.start()
      return () => host.call('bench__echo', { text: 'Hello' }, { caller: 'chat' })
    }
    case 'service': {
      const client = createHostClient({
        name: 'bench',
        connect: async () => streamChannel(connectSocket(place)),
      })
      await client.ready()
      const request = { kind: 'call', tool: 'bench__echo', arguments: { text: 'Hello' } } as const
      return () => client.call('runs.perform', { request })
    }
    case 'plain-host': {
      const plain = await plainHost(server, place)
      return () => plain({ name: 'echo', arguments: { text: 'Hello' } })
    }
    case 'plain-service': {
      const plain = await plainClient(place)
      return () => plain({ name: 'echo', arguments: { text: 'Hello' } })
    }
    case 'plain-gateway': {
      const client = await connect(socket({ path: place }))
      return () => client.call('echo', { text: 'Hello' })
    }
    case 'gateway': {
      const client = await connect(socket({ path: place }))
      return () => client.call('bench__echo', { text: 'Hello' })
    }
    default:
      throw new Error(`There is no way "${kind}".`)
  }
}

async function run(forMs: number, together: number): Promise<object> {
  const before = process.cpuUsage()
  const started = performance.now()
  const times: number[] = []
  const one = async (): Promise<void> => {
    for (let now = performance.now(); now - started < forMs; ) {
      const text = JSON.stringify(await call())
      if (!text.includes('Hello') || text.includes('isError":true'))
        throw new Error(`no echo: ${text.slice(0, 300)}`)
      const then = now
      now = performance.now()
      times.push(now - then)
    }
  }
  await Promise.all(Array.from({ length: together }, one))
  const { user, system } = process.cpuUsage(before)
  times.sort((a, b) => a - b)
  const at = (share: number): number => times[Math.floor(times.length * share)] ?? Number.NaN
  return {
    calls: times.length,
    ms: performance.now() - started,
    cpu: user + system,
    p50: at(0.5),
    p99: at(0.99),
  }
}
