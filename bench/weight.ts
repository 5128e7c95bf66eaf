import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { median } from './process.ts'

/** What it costs to have a server's code at all. */
export interface WeightRow {
  name: string
  /** Milliseconds a fresh process takes for the import, over bare node; median. */
  importMs: number
  /** Megabytes of resident memory after the import, over bare node; median. */
  memoryMb: number
  /** Kilobytes of one minified file with everything a server needs; nothing for plain node. */
  bundleKb: number | undefined
  gzipKb: number | undefined
}

// What the hello-world server of each imports; schemas are left out of all of them.
const entries = [
  { name: 'bare node', source: '' },
  {
    name: 'jackfield',
    source: `export { defineServer, tool } from '@jackfield/sdk'; export { serveHttp } from '@jackfield/sdk/http'`,
  },
  {
    name: 'official v2',
    source: `export { createMcpHandler, McpServer } from '@modelcontextprotocol/server'; export { toNodeHandler } from '@modelcontextprotocol/node'`,
  },
  {
    name: 'official v1',
    source: `export { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'; export { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'`,
  },
  { name: 'mcp-lite', source: `export { McpServer, StreamableHttpTransport } from 'mcp-lite'` },
]

const here = fileURLToPath(new URL('.', import.meta.url))

export async function measureWeight(runs: number): Promise<WeightRow[]> {
  const times = new Map<string, number[]>()
  const memory = new Map<string, number[]>()
  for (let run = 0; run < runs; run++) {
    for (const { name, source } of entries) {
      const { ms, mb } = importOnce(source)
      times.set(name, [...(times.get(name) ?? []), ms])
      memory.set(name, [...(memory.get(name) ?? []), mb])
    }
  }
  const bareMs = median(times.get('bare node') ?? [])
  const bareMb = median(memory.get('bare node') ?? [])
  const rows: WeightRow[] = []
  for (const { name, source } of entries) {
    const size = source === '' ? undefined : await bundle(source)
    rows.push({
      name,
      importMs: median(times.get(name) ?? []) - bareMs,
      memoryMb: median(memory.get(name) ?? []) - bareMb,
      bundleKb: size?.raw,
      gzipKb: size?.gzip,
    })
  }
  return rows
}

function importOnce(source: string): { ms: number; mb: number } {
  const program = `${source}; process.stdout.write(String(process.memoryUsage.rss()))`
  const started = performance.now()
  const child = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: here,
    encoding: 'utf8',
    timeout: 30_000,
  })
  const ms = performance.now() - started
  if (child.status !== 0) throw new Error(`import failed: ${child.stderr}`)
  return { ms, mb: Number(child.stdout) / 1e6 }
}

async function bundle(source: string): Promise<{ raw: number; gzip: number }> {
  const { outputFiles } = await build({
    stdin: { contents: source, resolveDir: here },
    bundle: true,
    minify: true,
    platform: 'node',
    format: 'esm',
    target: 'es2023',
    write: false,
    logLevel: 'error',
  })
  const bytes = outputFiles[0]?.contents ?? new Uint8Array()
  return { raw: bytes.length / 1000, gzip: gzipSync(bytes).length / 1000 }
}
