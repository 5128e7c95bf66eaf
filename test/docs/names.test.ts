import { existsSync, readFileSync } from 'node:fs'
import { ErrorCode, type ProtocolVersion, protocolVersions, RpcError } from '@jackfield/sdk'
import { describe, expect, it } from 'vitest'
import { methods } from '../../packages/sdk/src/protocol/methods.ts'
import { revisions } from '../../packages/sdk/src/protocol/revisions.ts'
import { definitionName } from '../../packages/sdk/test/schema/wire.ts'

const text = readFileSync(new URL('../../docs/names.md', import.meta.url), 'utf8')

/** Rows of the table under a heading, as cells. */
function table(heading: string): string[][] {
  const part = text.split(`## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''
  return part
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .slice(2)
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
}

function bare(cell: string | undefined): string {
  return (cell ?? '').replaceAll('`', '')
}

const marks = (has: (version: ProtocolVersion) => boolean): string[] =>
  protocolVersions.map((version) => (has(version) ? '●' : '–'))

/** What the errors of every revision carry, all in one. */
const data = { supported: [], requested: 'x', requiredCapabilities: {}, elicitations: [] }

describe('docs/names.md', () => {
  it('names files and folders that exist, for every term of the code', () => {
    const paths = table('Terms in the code').flatMap(([, , cell = '']) => cell.split(', ').map(bare))
    expect(paths.length).toBeGreaterThan(40)
    const places = ['../../', '../../packages/sdk/src/']
    const missing = paths.filter(
      (path) => !places.some((place) => existsSync(new URL(place + path, import.meta.url))),
    )
    expect(missing).toEqual([])
  })

  it('names every request method, with the revisions that have it', () => {
    const rows = table('Requests').map(([name, from, ...cells]) => [bare(name), from, ...cells])
    const known = Object.entries(methods).map(([name, { from, since, until }]) => [
      name,
      from,
      ...marks((version) => since <= version && version <= (until ?? version)),
    ])
    expect(rows.sort()).toEqual(known.sort())
  })

  it('names every notification, as the official schemas have them', () => {
    for (const [name, , ...cells] of table('Notifications')) {
      expect([name, ...cells]).toEqual([
        name,
        ...marks((version) => definitionName(version, bare(name)) !== undefined),
      ])
    }
  })

  it('names every error code in the form each revision sends', () => {
    for (const [name, code, ...cells] of table('Error codes')) {
      const value = Object.entries(ErrorCode).find(([key]) => key === bare(name))?.[1]
      expect(String(value)).toBe(code?.replace('−', '-'))
      const sent = protocolVersions.map((version) =>
        String(revisions[version].error(new RpcError(Number(value), 'x', data)).code),
      )
      expect(cells.map((cell) => cell.replace('−', '-'))).toEqual(sent)
    }
    expect(
      table('Error codes')
        .map(([name]) => bare(name))
        .sort(),
    ).toEqual(Object.keys(ErrorCode).sort())
  })
})
