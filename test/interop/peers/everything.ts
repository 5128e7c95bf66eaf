import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { pathToFileURL } from 'node:url'
import { freePort } from '../../setup/ports.ts'
import { announce, later } from './contract.ts'

/** `@modelcontextprotocol/server-everything` over HTTP: `everything.ts streamableHttp|sse`. */
const [how = 'streamableHttp'] = process.argv.slice(2)
const port = await freePort()
process.env['PORT'] = String(port)
const require = createRequire(import.meta.url)
const folder = dirname(require.resolve('@modelcontextprotocol/server-everything/package.json'))
await import(pathToFileURL(join(folder, 'dist/transports', `${how}.js`)).href)

const url = `http://127.0.0.1:${port}/${how === 'sse' ? 'sse' : 'mcp'}`
while (!(await answers())) await later(20)
announce(url)

async function answers(): Promise<boolean> {
  try {
    const response = await fetch(url, { method: 'PUT' })
    await response.body?.cancel()
    return true
  } catch {
    return false
  }
}
