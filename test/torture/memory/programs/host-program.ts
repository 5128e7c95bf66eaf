import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createHost, type HostOptions } from '@jackfield/host'
import { slopeOf } from '../slope.ts'

// One host with its store in a file: calls, or connects and disconnects, and prints what leaks.

interface Input {
  what: 'calls' | 'connections'
  count: number
  /** The program of `host-server.ts`. */
  server: string
  /** Characters of each call's argument. */
  chars: number
  /** Millions of bytes of messages that are kept. */
  megabytes?: number
  /** After how many calls the activity log is pruned. Default: never. */
  pruned?: number
}

const { what, count, server: program, chars, megabytes, pruned }: Input = JSON.parse(process.argv[2] ?? '{}')
const folder = mkdtempSync(join(tmpdir(), 'jackfield-memory-'))
const store = join(folder, 'store.sqlite')
/** A slope is asked for in long runs only. */
const samples = count < 1000 ? 10 : 20
const warm = Math.ceil(count / 5)

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

function stored(): number {
  return sizeOf(store) + sizeOf(`${store}-wal`)
}

async function collected(): Promise<number> {
  for (let round = 0; round < 3; round++) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    globalThis.gc?.()
  }
  return process.memoryUsage().heapUsed
}

/** Listeners of the process itself, and what it has open beside timers: pipes, sockets, processes. */
function resourceUsage(): { listeners: number; handles: number } {
  const listeners = process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0)
  const handles = process.getActiveResourcesInfo().filter((name) => name !== 'Timeout').length
  return { listeners, handles }
}

/** A server over HTTP in a process of its own. */
function remote(): Promise<{ child: ChildProcess; url: string }> {
  const child = fork(program, ['http'], { execArgv: ['--no-warnings'] })
  return new Promise((resolve) => child.once('message', (url) => resolve({ child, url: String(url) })))
}

const remoteServer = what === 'connections' ? await remote() : undefined
const servers: HostOptions['servers'] = {
  near: { command: process.execPath, args: ['--no-warnings', program], connectTimeoutMs: 60_000 },
  ...(remoteServer === undefined ? {} : { far: { url: remoteServer.url, connectTimeoutMs: 60_000 } }),
}
const host = createHost({
  servers,
  models: [],
  store,
  defaultVerdict: 'allow',
  ...(megabytes === undefined ? {} : { log: { megabytes } }),
})
await host.start()

async function call(server: string): Promise<void> {
  const { error, result } = await host.call(`${server}__echo`, { text: 'x'.repeat(chars) }, { caller: 'cli' })
  if (error !== undefined || result.isError) throw new Error(JSON.stringify(error ?? result).slice(0, 500))
}

let turn = 0
async function step(): Promise<void> {
  if (what === 'calls') {
    await call('near')
    if (pruned !== undefined && ++turn % pruned === 0) {
      host.pruneActivity(new Date(Date.now() + 60_000).toISOString())
    }
    return
  }
  // The remote one is connected more often, because a process takes long to start.
  const server = turn++ % 4 === 0 ? 'near' : 'far'
  await host.reconnect(server)
  await call(server)
}

for (let made = 0; made < warm; made++) await step()
let heap = await collected()
const before = resourceUsage()
// Rows and messages reach the file in batches, and pages when the write-ahead log is full.
host.activity({ limit: 1 })
const other = new DatabaseSync(store)
other.exec('PRAGMA wal_checkpoint(TRUNCATE)')
other.close()
const first = sizeOf(store)
const heaps = [{ at: 0, held: heap }]
let largest = stored()
for (let made = 1; made <= count; made++) {
  await step()
  largest = Math.max(largest, stored())
  if (heaps.length <= (samples * made) / count) {
    heap = await collected()
    heaps.push({ at: made, held: heap })
  }
}
const after = resourceUsage()
const verified = host.verifyActivity().sound
await host.close()
const storeBytes = sizeOf(store)
await collected()
const atEnd = resourceUsage()
// Engines go on compiling for a while, so the first half is less significant.
const { best, upper } = slopeOf(heaps.slice(samples / 2))
remoteServer?.child.disconnect()
rmSync(folder, { recursive: true, force: true })
const found = {
  made: count,
  intact: verified ? 1 : 0,
  best,
  upper,
  stored: storeBytes / (warm + count),
  first,
  file: storeBytes,
  largest,
  listeners: after.listeners - before.listeners,
  handles: after.handles - before.handles,
  left: atEnd.handles,
}
process.stdout.write(JSON.stringify(found), () => process.exit(0))
