import { fileURLToPath } from 'node:url'
import { createHost } from '@jackfield/host'
import { openDatabase } from '../../packages/host/src/log/store/database.ts'
import { LogWriter } from '../../packages/host/src/log/store/log-writer.ts'

/** Calls a tool while the log of the store is exported, and reports how long calls took. Usage: host-export.ts <store> <bytes> */

const [store = '', size = ''] = process.argv.slice(2)
const program = fileURLToPath(new URL('../servers/jackfield-stdio.ts', import.meta.url))

fill(store, Number(size))
const servers = { bench: { command: process.execPath, args: [program, '--tools', '10'] } }
const host = createHost({ servers, models: [], store, defaultVerdict: 'allow' })
await host.start()
await callUntil(new Promise((resolve) => setTimeout(resolve, 1_000)))
process.on('message', () => {
  measure().then(
    (done) => process.send?.(done),
    (error: Error) => process.send?.({ failure: error.message }),
  )
})
process.on('disconnect', () => process.exit(0))
process.send?.({ ready: true })

async function measure(): Promise<object> {
  let bytes = 0
  const began = performance.now()
  const exporting = (async () => {
    for await (const piece of host.trace.export('jsonl')) bytes += piece.length
  })()
  const beside = await callUntil(exporting)
  const ms = performance.now() - began
  const alone = await callUntil(new Promise((resolve) => setTimeout(resolve, ms)))
  return { bytes, ms, beside, alone }
}

/** Calls one after the other until something is over; how long each took, sorted, in milliseconds. */
async function callUntil(over: Promise<unknown>): Promise<number[]> {
  const times: number[] = []
  let isOver = false
  const done = over.finally(() => {
    isOver = true
  })
  while (!isOver) {
    const since = performance.now()
    await host.call('bench__echo', { text: 'Hello' }, { caller: 'chat' })
    times.push(performance.now() - since)
  }
  await done
  return times.sort((a, b) => a - b)
}

function fill(file: string, most: number): void {
  const database = openDatabase(file)
  const writer = new LogWriter(database)
  const payload = JSON.stringify({ result: { content: [{ type: 'text', text: 'x'.repeat(2_000) }] } })
  for (let bytes = 0; bytes < most; bytes += payload.length + 400) {
    writer.add({
      at: Date.now(),
      tick: 0,
      kind: 'wire',
      server: 'bench',
      connection: 'bench/1',
      direction: 'received',
      method: 'tools/call',
      tool: 'echo',
      rpc: '1',
      cause: null,
      reply: null,
      status: 'ok',
      ms: 1,
      bytes: payload.length,
      summary: 'tools/call: complete',
      payload,
      sha256: null,
    })
  }
  writer.close()
  database.close()
}
