import { Miniflare } from 'miniflare'
import { bundle } from '../bundle.ts'

// Runs a worker of this folder in workerd, with a class as a durable object: `workerd.ts worker-object.ts Mcp`.
const [program = '', durable] = process.argv.slice(2)
const contents = await bundle(program)
const miniflare = new Miniflare({
  modules: [{ type: 'ESModule', path: 'worker.js', contents }],
  compatibilityDate: '2026-07-01',
  // Without it a worker is not notified that its client disconnected, so nothing would be cancelled.
  compatibilityFlags: ['enable_request_signal'],
  durableObjects: durable === undefined ? {} : { MCP: durable },
  host: '127.0.0.1',
  port: 0,
})
console.log((await miniflare.ready).href)
