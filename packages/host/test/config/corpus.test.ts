import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/config/config.ts'

const corpus = fileURLToPath(new URL('corpus', import.meta.url))
const files = readdirSync(corpus, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name))
  .sort()
const hashes = (): string[] =>
  files.map((file) => createHash('sha256').update(readFileSync(file)).digest('hex'))

/** What a file is read as, without the places that depend on where this checkout lies. */
async function understood(file: string) {
  const { servers, problems } = await loadConfig(file, { env: {}, home: '/home/ada' })
  return {
    servers: Object.fromEntries(
      Object.entries(servers).map(([name, { from, ...config }]) => [
        name,
        { ...config, ...(from?.inputs !== undefined && { inputs: from.inputs }) },
      ]),
    ),
    problems: problems.map(
      ({ path, line, severity, message }) => `${severity} at line ${line}: ${path} ${message}`,
    ),
  }
}

describe('configurations of other products', () => {
  it('are at least sixty', () => expect(files.length).toBeGreaterThanOrEqual(60))

  it.each(files.map((file) => [relative(corpus, file), file]))('%s', async (name, file) => {
    const text = JSON.stringify(await understood(file), null, 2).replaceAll(corpus, '/corpus')
    await expect(`${text}\n`).toMatchFileSnapshot(
      join('corpus-read', `${name.replaceAll(/[\\/]/g, '.').replace(/^\./, '')}.json.snap`),
    )
  })

  it('are never written', async () => {
    const before = hashes()
    for (const file of files) await loadConfig(file, { env: {} })
    expect(hashes()).toEqual(before)
  })

  it('each have the correct position of every field', async () => {
    for (const file of files) {
      const lines = readFileSync(file, 'utf8').split('\n')
      const { origins } = await loadConfig(file, { env: {} })
      for (const [server, origin] of Object.entries(origins)) {
        expect(origin.line, `${file}: ${server}`).toBeGreaterThan(0)
        expect(origin.fields.length).toBeGreaterThan(0)
        for (const { field, path, line } of origin.fields) {
          const last = /(?:\.|^)([\w-]+)$|\["([^"]+)"\]$/.exec(path)
          const name = last?.[1] ?? last?.[2]
          const text = lines[(line ?? 0) - 1]
          expect(text, `${file}: ${server}.${field}`).toBeDefined()
          if (name !== undefined) expect(text, `${file}: ${server}.${field}`).toContain(name)
        }
      }
    }
  })
})
