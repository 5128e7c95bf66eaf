import { describe, expect, test, vi } from 'vitest'
import { everything, filesystem, jsonFile, run, tempFolder } from './jackfield.ts'

function config(): string[] {
  const server = ([command, ...args]: string[]): object => ({ command, args })
  const mcpServers = { everything: server(everything), files: server(filesystem(tempFolder())) }
  return ['--config', jsonFile({ mcpServers }), '--start-what-this-folder-names']
}

// Every run starts several processes.
vi.setConfig({ testTimeout: 90_000 })

describe.concurrent('resources and prompts', () => {
  test('are found over all servers by what they are about', async () => {
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
    expect(none.stdout).toMatch(/^Nothing fits among \d+ of 2 servers\./)
    expect(await run(['find', ...config()])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('jackfield find <words...>'),
    })
  })

  test('are drawn as a tree', async () => {
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

  test('that are bytes are shown by what they are', async () => {
    const { code, stdout } = await run(['read', 'everything', 'demo://resource/dynamic/blob/1', ...config()])
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /^── demo:\/\/resource\/dynamic\/blob\/1\n\[text\/plain, \d+ B\]\n0000 {2}[0-9a-f ]{47} {2}.{16}\n/,
    )
  })

  test('of a prompt show what a model would be given, and about what it costs', async () => {
    const words = ['prompt', 'everything', 'args-prompt', 'city=Oslo', '--preview', ...config()]
    const { code, stdout } = await run(words)
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /user: \(about \d+ tokens\)\nWhat's weather in Oslo\?\nAbout \d+ tokens in all\.\n$/,
    )
    const json = await run([...words, '--json'])
    expect(JSON.parse(json.stdout)).toMatchObject({
      said: [{ role: 'user', content: { type: 'text', text: "What's weather in Oslo?" } }],
    })
  })
})
