import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { Session } from 'node:inspector/promises'
import type { AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'

// Counts the SDK's own files and functions that one call runs, by the coverage of V8, from the sources.
const { values } = parseArgs({
  options: {
    list: { type: 'boolean', default: false },
    // Another checkout of this repository, whose SDK is counted.
    checkout: { type: 'string', default: fileURLToPath(new URL('..', import.meta.url)) },
  },
})

const sdk = resolve(values.checkout, 'packages/sdk')
const sources = join(sdk, 'src/')
const manifest: { exports: Record<string, { default: string }> } = JSON.parse(
  readFileSync(join(sdk, 'package.json'), 'utf8'),
)

/** The URL of the source file of an entry of the SDK. */
function sourceOf(entry: string): string {
  const built = manifest.exports[entry]?.default ?? ''
  return pathToFileURL(join(sdk, built.replace('./dist/', './src/').replace(/\.js$/, '.ts'))).href
}

const { connect }: typeof import('../packages/sdk/src/client/index.ts') = await import(sourceOf('./client'))
const { defineServer, tool }: typeof import('../packages/sdk/src/index.ts') = await import(sourceOf('.'))
const { serveHttp }: typeof import('../packages/sdk/src/transports/server/http/index.ts') = await import(
  sourceOf('./http')
)

const schema = { type: 'object', properties: { text: { type: 'string' } } } as const

const server = defineServer({
  name: 'path',
  version: '1.0.0',
  tools: {
    echo: tool({ input: schema, run: ({ text }) => String(text) }),
    ask: tool({ run: async (_, ctx) => (await ctx.elicit({ message: 'Which?', schema })).action }),
  },
})
const handler = serveHttp(server, { keys: ['k'.repeat(32)] })
const http = createServer(handler.node)
await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
const { port } = http.address() as AddressInfo
const url = `http://127.0.0.1:${port}/mcp`

const inspector = new Session()
inspector.connect()
await inspector.post('Profiler.enable')

interface Path {
  files: number
  functions: number
  names: string[]
}

/** What runs of the SDK while `call` does, once it ran often enough that nothing is loaded or compiled any more. */
async function pathOf(call: () => Promise<unknown>): Promise<Path> {
  for (let warm = 0; warm < 20; warm++) await call()
  await inspector.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  await call()
  const { result } = await inspector.post('Profiler.takePreciseCoverage')
  await inspector.post('Profiler.stopPreciseCoverage')
  const names: string[] = []
  let files = 0
  for (const { url, functions } of result) {
    if (!url.startsWith('file:') || !fileURLToPath(url).startsWith(sources)) continue
    // The function that begins with the file is the module itself.
    const run = functions.filter(({ ranges: [range] }) => range && range.count > 0 && range.startOffset > 0)
    if (run.length === 0) continue
    files++
    const file = fileURLToPath(url).slice(sources.length)
    names.push(...run.map(({ functionName }) => `${file} ${functionName || '(anonymous)'}`))
  }
  return { files, functions: names.length, names }
}

/** Sends one request with `fetch`, so that no client of ours takes part. */
async function post(body: object, headers: Record<string, string>): Promise<Response> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...body }),
  })
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
  return response
}

const clientInfo = { name: 'path', version: '1.0.0' }
const stateless = () =>
  post(
    {
      method: 'tools/call',
      params: {
        name: 'echo',
        arguments: { text: 'hello' },
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientInfo': clientInfo,
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
    },
    { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/call', 'Mcp-Name': 'echo' },
  ).then((response) => response.text())

const initialized = await post(
  { method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo } },
  {},
)
await initialized.text()
const session = {
  'Mcp-Session-Id': initialized.headers.get('mcp-session-id') ?? '',
  'MCP-Protocol-Version': '2025-11-25',
}
const inSession = () =>
  post({ method: 'tools/call', params: { name: 'echo', arguments: { text: 'hello' } } }, session).then(
    (response) => response.text(),
  )

const client = await connect(url, { onElicit: () => ({ action: 'accept', content: { text: 'this' } }) })
const rows: [string, () => Promise<unknown>][] = [
  ['tools/call over HTTP, 2026-07-28, server', stateless],
  ['tools/call over HTTP in a session, 2025-11-25, server', inSession],
  ['client.call over HTTP, both sides', () => client.call('echo', { text: 'hello' })],
  ['client.call with one elicitation, both sides', () => client.call('ask', {})],
]
for (const [what, call] of rows) {
  const { files, functions, names } = await pathOf(call)
  console.log(`${what}: ${files} files, ${functions} functions`)
  if (values.list) console.log(names.map((name) => `  ${name}`).join('\n'))
}
await client.close()
await handler.close()
http.closeAllConnections()
http.close()
inspector.disconnect()
