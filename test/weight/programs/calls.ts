import { Readable, Writable } from 'node:stream'
import { defineServer, tool } from '@jackfield/sdk'
import { serveStdio } from '@jackfield/sdk/stdio'

// Counts the bytes that calls take from the heap, and those they keep, in the best of some rounds. Run with --expose-gc and new space enough
// that nothing is collected meanwhile.

const [era = 'modern', tools = '1'] = process.argv.slice(2)
const calls = 2000
const together = 20
const info = { name: 'weight', version: '1.0.0' }
const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': info,
  'io.modelcontextprotocol/clientCapabilities': {},
}

const echo = tool({
  description: 'Says it again',
  input: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  run: ({ text }) => String(text),
})
const names = Array.from({ length: Number(tools) }, (_, at) => `echo_${at}`)
const server = defineServer({
  name: 'weighed',
  version: '1.0.0',
  tools: Object.fromEntries(names.map((name) => [name, echo])),
})

let answered = 0
let failed = ''
let wanted = 0
let enough = (): void => {}
const input = new Readable({ read: () => {} })
const output = new Writable({
  write(chunk: Buffer, _encoding, done) {
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) answered++
    if (chunk.includes('"error"')) failed = chunk.toString()
    if (answered >= wanted) enough()
    done()
  },
})
serveStdio(server, { input, output })

const line = (message: object): string => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`

async function say(text: string, answers: number): Promise<void> {
  wanted = answered + answers
  const logged = new Promise<void>((resolve) => {
    enough = resolve
  })
  input.push(Buffer.from(text))
  await logged
}

if (era === 'session') {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: info }
  await say(line({ id: 'first', method: 'initialize', params }), 1)
  input.push(Buffer.from(line({ method: 'notifications/initialized' })))
}

let id = 0
async function run(): Promise<void> {
  for (let sent = 0; sent < calls; sent += together) {
    const texts = Array.from({ length: together }, () => {
      const call = { name: `echo_${id % names.length}`, arguments: { text: 'Hello' } }
      return line({
        id: ++id,
        method: 'tools/call',
        params: era === 'session' ? call : { ...call, _meta: meta },
      })
    })
    await say(texts.join(''), together)
  }
}

const collect = (): void => globalThis.gc?.()
const used = (): number => process.memoryUsage().heapUsed

for (let warm = 0; warm < 5; warm++) {
  await run()
  collect()
}
// What the engine compiles in one of the rounds is no part of a call; what a call keeps is there in each of them.
let [taken, kept] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
for (let round = 0; round < 4; round++) {
  collect()
  const before = used()
  await run()
  const after = used()
  collect()
  taken = Math.min(taken, (after - before) / calls)
  kept = Math.min(kept, (used() - before) / calls)
}
if (failed !== '') throw new Error(failed.slice(0, 300))
process.stdout.write(JSON.stringify({ taken, kept }), () => process.exit())
