import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { Miniflare } from 'miniflare'

// Runs a worker of this folder in workerd: `workerd.ts worker.ts`, with the class Mcp of it as a durable object.
const [name = 'worker.ts'] = process.argv.slice(2)
const { outputFiles } = await build({
  entryPoints: [fileURLToPath(new URL(name, import.meta.url))],
  bundle: true,
  write: false,
  format: 'esm',
  platform: 'neutral',
  external: ['node:*'],
})
const [worker] = outputFiles
const miniflare = new Miniflare({
  modules: [{ type: 'ESModule', path: 'worker.js', contents: worker?.text ?? '' }],
  compatibilityDate: '2026-07-01',
  compatibilityFlags: ['enable_request_signal'],
  durableObjects: name === 'worker.ts' ? {} : { MCP: 'Mcp' },
  host: '127.0.0.1',
  port: 0,
})
console.log((await miniflare.ready).href)
