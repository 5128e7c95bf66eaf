import { readFileSync, writeFileSync } from 'node:fs'
import process from 'node:process'
import { expect, it } from 'vitest'
import { pairs } from './pairs.ts'
import { deviations, habits } from './suite/deviations.ts'
import { casesOf, enough, type Pair } from './suite/pair.ts'

const document = new URL('../../docs/interop.md', import.meta.url)
const root = new URL('../../node_modules/', import.meta.url)

const packages: Readonly<Record<string, string>> = {
  'official server v1': '@modelcontextprotocol/sdk',
  'official server v2': '@modelcontextprotocol/server',
  'official client v1': '@modelcontextprotocol/sdk',
  'official client v2': '@modelcontextprotocol/client',
  'server-everything': '@modelcontextprotocol/server-everything',
  'server-filesystem': '@modelcontextprotocol/server-filesystem',
  tmcp: 'tmcp',
  'mcp-lite': 'mcp-lite',
  fastmcp: 'fastmcp',
}

const transports = { stdio: 'stdio', http: 'Streamable HTTP', sse: 'HTTP+SSE' }

function versionOf(name: string): string {
  const manifest = readFileSync(new URL(`${name}/package.json`, root), 'utf8')
  return JSON.parse(manifest).version
}

/** The foreign side of a pair. */
const peerOf = ({ client, server }: Pair): string => (client.ours ? server : client.name)

function table(head: string[], rows: string[][]): string {
  const lines = [head, head.map(() => '---'), ...rows]
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

function pairsTable(chosen: Pair[]): string {
  const rows = chosen.map((pair) => {
    const name = packages[peerOf(pair)]
    const peer = name === undefined ? 'Jackfield' : `\`${name}\` ${versionOf(name)}`
    const how = pair.how === undefined ? '' : `, ${pair.how}`
    return [peer, `${transports[pair.transport]}${how}`, pair.revision, String(casesOf(pair).length)]
  })
  return table(['peer', 'transport', 'revision', 'cases'], rows)
}

const parts: Readonly<Record<string, () => string>> = {
  servers: () => pairsTable(pairs.filter(({ client, ourServer }) => client.ours && !ourServer)),
  clients: () => pairsTable(pairs.filter(({ client }) => !client.ours)),
  control: () => pairsTable(pairs.filter(({ client, ourServer }) => client.ours && ourServer)),
  sum: () => {
    const cases = pairs.map((pair) => casesOf(pair).length)
    const all = cases.reduce((sum, count) => sum + count, 0)
    return `${all} cases in ${pairs.length} pairs; the smallest pair has ${Math.min(...cases)}.`
  },
  faults: () =>
    table(
      ['peer', 'transport', 'revision', 'message', 'what'],
      deviations.map(({ peers, transports: over, revisions, method, what }) => [
        peers.join(', '),
        over?.map((one) => transports[one]).join(', ') ?? 'all',
        revisions?.join(', ') ?? 'all',
        method,
        what,
      ]),
    ),
  habits: () =>
    table(
      ['peer', 'method', 'what it does'],
      habits.map(({ peer, method, what }) => [peer, `\`${method}\``, what]),
    ),
}

it('the document lists the pairs, and the number of cases of each', () => {
  const text = readFileSync(document, 'utf8')
  const made = text.replaceAll(
    /(<!-- (\w+) -->)[\s\S]*?(<!-- end -->)/g,
    (_, begin: string, name: string, end: string) => `${begin}\n\n${parts[name]?.() ?? ''}\n\n${end}`,
  )
  if (process.env['WRITE_DOCS'] !== undefined) writeFileSync(document, made)
  else expect(text, 'run this test with WRITE_DOCS=1 to write it anew').toBe(made)
  for (const name of Object.keys(parts)) expect(text).toContain(`<!-- ${name} -->`)
})

it(`every pair has at least ${enough} cases`, () => {
  for (const pair of pairs) expect(casesOf(pair).length).toBeGreaterThanOrEqual(enough)
})
