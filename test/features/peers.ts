import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../scripts/run.ts'
import {
  fastmcpServers,
  mcpLiteServers,
  officialV1Clients,
  officialV1Servers,
  officialV2Clients,
  officialV2Servers,
} from '../interop/pairs.ts'
import { onHttp } from '../interop/suite/launch.ts'
import { casesOf, type Pair, type Running } from '../interop/suite/pair.ts'
import type { Cell, Peer } from './feature.ts'
import { type ProbeName, probes } from './probes.ts'

/** Another implementation: its name, its installed packages, and how it is tested. */
interface Description {
  readonly name: string
  /** Packages whose version the page names, and whose code answers for what is there. */
  readonly packages: readonly string[]
  /** Folders whose code answers for what is not there; what a package only bundles counts for nothing. */
  readonly own: readonly string[]
  /** The interop tests of our client with its server, and of its client with ours. */
  readonly interop: string
  readonly clientInterop?: string
  /** The oldest revision of its server. */
  readonly oldest: string
  /** Cases that run with its server, and with its client. */
  readonly cases: ReadonlySet<string>
  readonly clientCases: ReadonlySet<string>
  start(): Promise<Running>
}

const none: ReadonlySet<string> = new Set()
const official = ['server', 'client', 'node', 'core'].map((name) => `@modelcontextprotocol/${name}`)

function casesIn(pairs: readonly Pair[]): ReadonlySet<string> {
  return new Set(pairs.flatMap((pair) => casesOf(pair).map(({ name }) => name)))
}

export const peers: Readonly<Record<Peer, Description>> = {
  v2: {
    name: 'official v2',
    packages: official,
    own: official.map((name) => `${name}/dist`),
    interop: 'test/interop/official-v2.test.ts',
    clientInterop: 'test/interop/official-v2.test.ts',
    oldest: '2024-11-05',
    cases: casesIn(officialV2Servers),
    clientCases: casesIn(officialV2Clients),
    start: onHttp('official-v2/main.ts', 'http', 'http'),
  },
  v1: {
    name: 'official v1',
    packages: ['@modelcontextprotocol/sdk'],
    own: ['@modelcontextprotocol/sdk/dist/esm'],
    interop: 'test/interop/official-v1.test.ts',
    clientInterop: 'test/interop/official-v1.test.ts',
    oldest: '2024-11-05',
    cases: casesIn(officialV1Servers),
    clientCases: casesIn(officialV1Clients),
    start: onHttp('official-v1/main.ts', 'http', 'http'),
  },
  fastmcp: {
    name: 'FastMCP',
    packages: ['fastmcp', 'mcp-proxy'],
    own: ['fastmcp/dist'],
    interop: 'test/interop/others.test.ts',
    oldest: '2024-11-05',
    cases: casesIn(fastmcpServers),
    clientCases: none,
    start: onHttp('fastmcp/main.ts', 'http', 'http'),
  },
  lite: {
    name: 'mcp-lite',
    packages: ['mcp-lite'],
    own: ['mcp-lite/dist'],
    interop: 'test/interop/others.test.ts',
    oldest: '2025-03-26',
    cases: casesIn(mcpLiteServers),
    clientCases: none,
    start: onHttp('mcp-lite/main.ts', 'http'),
  },
}

/** The order of the columns. */
export const order: readonly Peer[] = ['v2', 'v1', 'fastmcp', 'lite']

export function versionOf(name: string): string {
  const manifest: { version: string } = JSON.parse(
    readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8'),
  )
  return manifest.version
}

const texts = new Map<string, string>()

/** All the code and types under a folder of `node_modules`, examples left out. */
function codeIn(folder: string): string {
  const known = texts.get(folder)
  if (known !== undefined) return known
  const files = globSync('**/*.{js,mjs,d.ts,d.mts}', { cwd: join(root, 'node_modules', folder) })
  const read = files
    .filter((file) => !/(?:^|\/)(?:examples|node_modules|cjs)\//.test(file))
    .map((file) => readFileSync(join(root, 'node_modules', folder, file), 'utf8'))
  const text = read.join('\n')
  texts.set(folder, text)
  return text
}

/** What is wrong with how a cell is known; undefined when nothing is, and for probes, which have to run. */
export function faultOf(peer: Peer, cell: Cell): string | undefined {
  if (cell.has === 'unknown') return undefined
  const { packages, own, cases, clientCases } = peers[peer]
  const { known } = cell
  if ('case' in known)
    return cases.has(known.case) ? undefined : `no case "${known.case}" runs with its server`
  if ('clientCase' in known) {
    return clientCases.has(known.clientCase)
      ? undefined
      : `no case "${known.clientCase}" runs with its client`
  }
  if ('source' in known) {
    return packages.some((name) => codeIn(name).includes(known.source))
      ? undefined
      : `"${known.source}" is not in its code`
  }
  if ('lacks' in known) {
    const folders = known.in === undefined ? own : [known.in]
    const found = folders
      .map((folder) => new RegExp(known.lacks).exec(codeIn(folder))?.[0])
      .find((text) => text)
    return found === undefined ? undefined : `"${found}" is in its code`
  }
  if ('probe' in known) return known.probe in probes ? undefined : 'there is no such probe'
  return known.docs === '' ? 'says not where' : undefined
}

/** Every probe that answers for a cell of one peer, with what it should say. */
export function probesOf(peer: Peer, cells: readonly Cell[]): ReadonlyMap<ProbeName, boolean> {
  const expected = new Map<ProbeName, boolean>()
  for (const cell of cells) {
    if (cell.has === 'unknown' || !('probe' in cell.known)) continue
    const does = cell.has === 'yes'
    // A part that is missing is what the probe looked for.
    if (expected.get(cell.known.probe) === !does)
      throw new Error(`${peer}: two cells read "${cell.known.probe}" differently`)
    expected.set(cell.known.probe, does)
  }
  return expected
}
