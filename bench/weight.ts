import { spawn, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { sizeOf } from './bundle.ts'
import { median } from './process.ts'

/** The cost of importing a package. */
export interface WeightRow {
  name: string
  /** Milliseconds a fresh process takes for the import, over bare node; median. */
  importMs: number
  /** CPU milliseconds of the same, which other processes of the machine disturb less. */
  importCpuMs: number
  /** Megabytes of resident memory after the import, over bare node; median. */
  memoryMb: number
  /** Kilobytes, minified, of what is loaded at once, and the same compressed. */
  firstKb: number | undefined
  firstGzipKb: number | undefined
  /** Kilobytes, minified and compressed, with all that is loaded when it is needed. */
  allGzipKb: number | undefined
}

/** Time and memory of one import. */
export interface Import {
  ms: number
  cpu: number
  mb: number
}

/** How soon a stdio server answers after its process was started. */
export interface FirstRow {
  name: string
  /** Milliseconds from the start of the process to its first answer, median. */
  ms: number
  /** The same over what bare node took in the same run, median. */
  over: number
}

// What the hello-world server of each imports; schemas are left out of all of them.
const entries: { name: string; source: string; unsized?: true }[] = [
  { name: 'bare node', source: '', unsized: true },
  { name: 'jackfield, @jackfield/sdk/http by itself', source: `export * from '@jackfield/sdk/http'` },
  {
    name: 'jackfield, HTTP',
    source: `export { defineServer, tool } from '@jackfield/sdk'; export { serveHttp } from '@jackfield/sdk/http'`,
  },
  {
    name: 'jackfield, stdio',
    source: `export { defineServer, tool } from '@jackfield/sdk'; export { serveStdio } from '@jackfield/sdk/stdio'`,
  },
  { name: 'jackfield, client', source: `export { connect } from '@jackfield/sdk/client'` },
  // Nobody bundles the host: it is a program's own.
  { name: 'jackfield, host', source: `export { createHost } from '@jackfield/host'`, unsized: true },
  {
    name: 'official v2, HTTP',
    source: `export { createMcpHandler, McpServer } from '@modelcontextprotocol/server'; export { toNodeHandler } from '@modelcontextprotocol/node'`,
  },
  {
    name: 'official v1, HTTP',
    source: `export { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'; export { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'`,
  },
  { name: 'mcp-lite, HTTP', source: `export { McpServer, StreamableHttpTransport } from 'mcp-lite'` },
  {
    name: 'tmcp, HTTP',
    source: `export { McpServer } from 'tmcp'; export { HttpTransport } from '@tmcp/transport-http'`,
  },
  // It cannot be bundled: it imports packages that it does not install.
  { name: 'fastmcp', source: `export { FastMCP } from 'fastmcp'`, unsized: true },
]

const here = fileURLToPath(new URL('.', import.meta.url))

export async function measureWeight(runs: number): Promise<WeightRow[]> {
  const measured = new Map<string, Import[]>(entries.map(({ name }) => [name, []]))
  for (let run = 0; run < runs; run++) {
    for (const { name, source } of entries) measured.get(name)?.push(importOnce(source))
  }
  const bare = measured.get('bare node') ?? []
  const over = (name: string, member: keyof Import): number =>
    medianOver(
      (measured.get(name) ?? []).map((once) => once[member]),
      bare.map((once) => once[member]),
    )
  const rows: WeightRow[] = []
  for (const { name, source, unsized } of entries) {
    const size = unsized === true ? undefined : await sizeOf(source, here)
    rows.push({
      name,
      importMs: over(name, 'ms'),
      importCpuMs: over(name, 'cpu'),
      memoryMb: over(name, 'mb'),
      firstKb: size?.first,
      firstGzipKb: size?.firstGzip,
      allGzipKb: size?.allGzip,
    })
  }
  return rows
}

/** A server with one tool, started for one request after the previous one has exited. */
export async function measureFirst(runs: number): Promise<FirstRow[]> {
  const servers = [
    { name: 'bare node', file: 'first/bare.mjs' },
    { name: 'jackfield', file: 'first/jackfield.mjs' },
    { name: 'official v2', file: 'first/official-v2.mjs' },
    { name: 'tmcp', file: 'first/tmcp.mjs' },
  ]
  const times = new Map<string, number[]>()
  for (let run = 0; run < runs; run++) {
    for (const { name, file } of servers)
      times.set(name, [...(times.get(name) ?? []), await firstAnswer(file)])
  }
  const bare = times.get('bare node') ?? []
  return servers.map(({ name }) => {
    const taken = times.get(name) ?? []
    return { name, ms: median(taken), over: medianOver(taken, bare) }
  })
}

/** The median of the differences between values of the same round. */
function medianOver(values: readonly number[], than: readonly number[]): number {
  return median(values.map((value, round) => value - (than[round] ?? Number.NaN)))
}

function firstAnswer(file: string): Promise<number> {
  const discover = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/list',
    params: {
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    },
  }
  return new Promise((resolve, reject) => {
    const started = performance.now()
    const child = spawn(process.execPath, [file], { cwd: here, stdio: ['pipe', 'pipe', 'inherit'] })
    const late = setTimeout(() => child.kill(), 30_000)
    let answered: { ms: number; text: string } | undefined
    child.stdout.setEncoding('utf8').once('data', (text: string) => {
      answered = { ms: performance.now() - started, text }
      child.kill()
    })
    child.once('exit', (code) => {
      clearTimeout(late)
      if (answered === undefined) reject(new Error(`${file} ended with code ${code} and no answer`))
      else if (answered.text.includes('"result"')) resolve(answered.ms)
      else reject(new Error(`${file} answered ${answered.text.slice(0, 300)}`))
    })
    child.stdin.write(`${JSON.stringify(discover)}\n`)
  })
}

/** @param cwd the folder from which the names of packages are resolved */
export function importOnce(source: string, cwd = here): Import {
  const addRow =
    'const { user, system } = process.cpuUsage(); process.stdout.write(JSON.stringify({ cpu: (user + system) / 1000, mb: process.memoryUsage.rss() / 1e6 }), () => process.exit())'
  const started = performance.now()
  const child = spawnSync(process.execPath, ['--input-type=module', '--eval', `${source}; ${addRow}`], {
    cwd,
    encoding: 'utf8',
    timeout: 30_000,
  })
  const ms = performance.now() - started
  if (child.status !== 0) throw new Error(`import failed: ${child.stderr}`)
  const { cpu, mb } = JSON.parse(child.stdout)
  return { ms, cpu: Number(cpu), mb: Number(mb) }
}
