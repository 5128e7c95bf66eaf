import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

const manifest: { exports: Record<string, unknown> } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
)

/** Entries with a counterpart in the official SDK 1, as `server/mcp.js`. */
const entries = Object.keys(manifest.exports)
  .map((entry) => entry.slice(2))
  .filter((entry) => !/^(v2\/|register$|package\.json$)/.test(entry))

/** The official packages of version 2, by their entries here. */
const packagesOf2: Readonly<Record<string, string>> = {
  'v2/server': '@modelcontextprotocol/server',
  'v2/server/stdio': '@modelcontextprotocol/server/stdio',
  'v2/client': '@modelcontextprotocol/client',
  'v2/client/stdio': '@modelcontextprotocol/client/stdio',
  'v2/node': '@modelcontextprotocol/node',
}

/** Exports of this package that the official entry does not have. */
const own: Readonly<Record<string, readonly string[]>> = {
  'types.js': ['isStatelessRequest'],
}

const officialOf = new Map([
  ...entries.map((entry) => [entry, `@modelcontextprotocol/sdk/${entry}`] as const),
  ...Object.entries(packagesOf2),
])

describe.for([...officialOf])('%s', ([entry, name]) => {
  it('exports every value of the official entry, and no other', async () => {
    const official = await import(name)
    const compat = await import(`@jackfield/compat/${entry}`)
    const expected = [...Object.keys(official), ...(own[entry] ?? [])].sort()
    expect(Object.keys(compat).sort()).toEqual(expected)
  })
})

it('throws with advice when an export that is not covered is used', async () => {
  const seen: string[] = []
  for (const entry of officialOf.keys()) {
    const values: Record<string, unknown> = await import(`@jackfield/compat/${entry}`)
    for (const [name, value] of Object.entries(values)) {
      if (typeof value !== 'function' || !('~uncovered' in value)) continue
      seen.push(name)
      expect(() => Reflect.construct(value, [])).toThrow(/does not cover .+\. .+\. The guide lists/)
      expect(() => Reflect.apply(value, undefined, [])).toThrow(/does not cover/)
      expect(() => Reflect.get(value, 'parse')).toThrow(/does not cover/)
    }
  }
  // The guide lists the same names.
  const guide = readFileSync(new URL('../../../docs/guide/from-official-sdk.md', import.meta.url), 'utf8')
  for (const name of new Set(seen)) expect(guide).toContain(`\`${name}\``)
})
