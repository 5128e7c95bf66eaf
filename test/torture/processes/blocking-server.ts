import { setTimeout as sleep } from 'node:timers/promises'
import { defineServer, tool } from '@jackfield/sdk'
import { serveHttp } from '@jackfield/sdk/http'

// Serves over HTTP, with keep-alives every second. One of its tools blocks the whole process.

const standing = new Int32Array(new SharedArrayBuffer(4))
const block = tool({
  description: 'Lets nothing else run for so many milliseconds',
  input: { type: 'object', properties: { ms: { type: 'number' } }, required: ['ms'] },
  run: ({ ms }) => {
    Atomics.wait(standing, 0, 0, Number(ms))
    return 'went on'
  },
})
const slow = tool({ description: 'Takes a second', run: () => sleep(1_000).then(() => 'done') })
const server = defineServer({ name: 'blocking', version: '1', tools: { block, slow } })
const change = tool({
  description: 'Adds a tool',
  run: () => {
    server.add({ tools: { added: slow } })
    return 'added'
  },
})
server.add({ tools: { change } })
const { url } = await serveHttp(server, {
  limits: { keepAliveMs: 1_000 },
  keys: [crypto.getRandomValues(new Uint8Array(32))],
}).listen()
console.log(url)
