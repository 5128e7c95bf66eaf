import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { filesystem, jsonFile, run, runProcess, tempFolder } from './jackfield.ts'
import { serveEverything } from './served-everything.ts'

const served = await serveEverything(afterAll)

function config(): string[] {
  const server = ([command, ...args]: string[]): object => ({ command, args })
  const mcpServers = { everything: { url: served }, files: server(filesystem(tempFolder())) }
  return ['--config', jsonFile({ mcpServers }), '--start-what-this-folder-names']
}

// Every run starts several processes.
vi.setConfig({ testTimeout: 180_000 })

describe.concurrent('resources and prompts', () => {
  test('are found across all servers by their descriptions', async () => {
    const found = await run(['find', 'archit', ...config()])
    expect(found).toMatchObject({ code: 0 })
    expect(found.stdout).toMatch(
      /^FOUND +KIND +SERVER +DESCRIPTION\ndemo:\/\/resource\/static\/document\/architecture\.md +resource +everything /,
    )
    const json = await run(['find', 'args-prompt', '--json', '--limit', '1', ...config()])
    expect(JSON.parse(json.stdout)).toMatchObject({
      matches: [{ entry: { kind: 'prompt', server: 'everything', command: 'everything.args-prompt' } }],
    })
    const none = await run(['find', 'qqqqqq', ...config()])
    expect(none.stdout).toMatch(/^No match among \d+ of 2 servers\./)
    expect(await run(['find', ...config()])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('jackfield find <words...>'),
    })
  })

  test('are found by contents that were read', async () => {
    const store = ['--store', join(tempFolder(), 'store.sqlite')]
    const words = ['find', 'fixed', 'point', ...store, ...config()]
    const before = await run(words)
    expect(before.stdout).toMatch(
      /^No match among \d+ of 2 servers\. .*the text of a resource is searched once it has been read\.\n$/,
    )
    const uri = 'demo://resource/static/document/structure.md'
    const { stdout } = await run(['read', 'everything', uri, ...store, ...config()])
    const [word = ''] = /\b[a-z]{9,}\b/.exec(stdout.slice(200)) ?? []
    const found = await run(['find', word, ...store, ...config()])
    expect(found).toMatchObject({ code: 0, stderr: '' })
    expect(found.stdout).toMatch(/\n +read just now: .*«/)
    const json = await run(['find', word, '--json', ...store, ...config()])
    const { matches } = JSON.parse(json.stdout)
    const match = matches.find((one: { content?: unknown }) => one.content !== undefined)
    expect(match).toMatchObject({
      entry: { kind: 'resource', server: 'everything', resource: { uri } },
      content: { readAt: expect.any(String) },
    })
    const marked = match.content.snippet.find((piece: { isMatch: boolean }) => piece.isMatch)
    expect(marked.text.toLowerCase()).toContain(word)
    // Without a store nothing is kept.
    const without = await run(['find', word, '--json', '--no-store', ...config()])
    expect(without.stdout).not.toContain('"content"')
  })

  test('are found only by name if SQLite has no full-text search, with a notice', async () => {
    const folder = tempFolder()
    const store = ['--store', join(folder, 'store.sqlite')]
    const hook = join(folder, 'without-fts5.mjs')
    // Fails as SQLite does that was built without the module.
    writeFileSync(
      hook,
      `import { DatabaseSync } from 'node:sqlite'
      for (const method of ['exec', 'prepare']) {
        const real = DatabaseSync.prototype[method]
        DatabaseSync.prototype[method] = function (sql) {
          if (/fts5|resource_words(?!')/.test(sql)) throw new Error('no such module: fts5')
          return real.call(this, sql)
        }
      }`,
    )
    const uri = 'demo://resource/static/document/structure.md'
    await run(['read', 'everything', uri, ...store, ...config()])
    const node = ['--import', hook]
    expect(await runProcess(['read', 'everything', uri, ...store, ...config()], { node })).toMatchObject({
      code: 0,
    })
    const found = await runProcess(['find', 'archit', ...store, ...config()], { node })
    expect(found).toMatchObject({ code: 0, stdout: expect.stringContaining('architecture.md') })
    expect(found.stderr).toMatch(
      /Only names and descriptions were searched: the SQLite of this Node \(.*\) was built without FTS5/,
    )
    const json = await runProcess(['find', 'archit', '--json', ...store, ...config()], { node })
    expect(JSON.parse(json.stdout)).toMatchObject({
      contentUnavailable: expect.stringContaining('FTS5'),
      matches: [{ entry: { kind: 'resource' } }],
    })
    expect(
      await runProcess(['activity', 'prune', '--before', '2999-01-01', ...store], { node }),
    ).toMatchObject({
      code: 0,
    })
    const after = await run(['find', 'archit', '--json', ...store, ...config()])
    expect(after.stdout).not.toContain('"content"')
  })

  test('are printed as a tree', async () => {
    const drawn = await run(['resources', '--tree', 'everything', ...config()])
    expect(drawn.code).toBe(0)
    expect(drawn.stdout).toMatch(
      /^everything {2}\d+ resources, \d+ templates\n[└├]─ demo:\/\/resource {2}\d+ resources/,
    )
    expect(drawn.stdout).toContain('─ blob/{resourceId}  template')
    expect(drawn.stdout).toContain('─ architecture.md  text/markdown')
    const all = await run(['resources', '--tree', '--json', ...config()])
    expect(JSON.parse(all.stdout)).toMatchObject({ servers: [{ label: 'everything' }] })
  })

  test('with binary content are shown by their type', async () => {
    const { code, stdout } = await run(['read', 'everything', 'demo://resource/dynamic/blob/1', ...config()])
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /^── demo:\/\/resource\/dynamic\/blob\/1\n\[text\/plain, \d+ B\]\n0000 {2}[0-9a-f ]{47} {2}.{16}\n/,
    )
  })

  test('of a prompt show what a model would get, and its estimated cost', async () => {
    const words = ['prompt', 'everything', 'args-prompt', 'city=Oslo', '--preview', ...config()]
    const { code, stdout } = await run(words)
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /user: \(about \d+ tokens\)\nWhat's weather in Oslo\?\nAbout \d+ tokens in all\.\n$/,
    )
    const json = await run([...words, '--json'])
    expect(JSON.parse(json.stdout)).toMatchObject({
      input: [{ role: 'user', content: { type: 'text', text: "What's weather in Oslo?" } }],
    })
  })
})
