import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { sandboxReady } from '@jackfield/host'
import { transform } from 'esbuild'
import { describe, expect, it } from 'vitest'
import { commandRun, filesLoaded, packagesOf, root } from './loaded.ts'

const run = promisify(execFile)
const host = ['@jackfield/host']

/** A server of the session era that returns what it knows of the proxy of its sandbox. */
const boxed = `require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line)
  if (id === undefined) return
  const results = {
    initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'b', version: '1' } },
    'tools/list': { tools: [{ name: 'way', inputSchema: { type: 'object' } }] },
    'tools/call': { content: [{ type: 'text', text: String(process.env.HTTPS_PROXY) }] },
  }
  const result = results[method]
  const answer = result === undefined ? { error: { code: -32601, message: 'unknown' } } : { result }
  console.log(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
})`

/** What a program that uses the built host prints. */
async function printed(program: string): Promise<string> {
  const source = `import { createHost, parseConfig } from '@jackfield/host'; ${program}`
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', source], { cwd: root })
  return stdout.trim()
}

/** CPU milliseconds of a process that imports something: the least of several. */
async function cpuOf(ways: readonly string[], runs = 7): Promise<number[]> {
  const least = ways.map(() => Number.POSITIVE_INFINITY)
  for (let n = 0; n < runs; n++) {
    for (const [at, way] of ways.entries()) {
      const program = `
        await import(${JSON.stringify(way)})
        const { user, system } = process.cpuUsage()
        process.stdout.write(String((user + system) / 1000), () => process.exit())`
      const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program], {
        cwd: root,
      })
      least[at] = Math.min(least[at] ?? Number.POSITIVE_INFINITY, Number(stdout))
    }
  }
  return least
}

describe('what importing the built host loads', () => {
  // The index, what clients of a host need alone, and the rest.
  it('is at most three files of its own', async () => {
    const loaded = await filesLoaded(host, 'packages/host/dist/')
    expect(loaded.length).toBeGreaterThan(0)
    expect(loaded.length, loaded.join('\n')).toBeLessThanOrEqual(3)
  })

  it('is at most 662 kB of its own, minified', async () => {
    const loaded = await filesLoaded(host, 'packages/host/dist/')
    let bytes = 0
    for (const url of loaded) {
      bytes += (await transform(readFileSync(new URL(url)), { minify: true })).code.length
    }
    expect(bytes).toBeGreaterThan(1000)
    expect(bytes).toBeLessThanOrEqual(662_000)
  })

  it('contains of other packages only the search index', async () => {
    const loaded = await filesLoaded(host, 'node_modules/')
    expect(packagesOf(loaded)).toEqual(['minisearch'])
  })

  it('is only what clients need, for a command that uses the host process', async () => {
    const clients = ['@jackfield/host/client', '@jackfield/host/config']
    const loaded = await filesLoaded(clients, 'packages/host/dist/')
    expect(loaded.length).toBeGreaterThan(0)
    expect(loaded.filter((file) => /\/(?:index|shared-[^/]+)\.js$/.test(file))).toEqual([])
  })

  it.each([
    ['JSON', 'jsonc-parser', 'config.json', '{ "mcpServers": {} }'],
    ['TOML', 'smol-toml', 'config.toml', '[mcpServers]'],
    ['YAML', 'yaml', 'config.yaml', 'mcpServers: {}'],
  ])('grows by one library for a configuration in %s', async (_kind, library, file, text) => {
    const before = await filesLoaded(host, 'node_modules/')
    const read = `const { parseConfig } = await import('@jackfield/host')
      if (Object.keys(parseConfig(${JSON.stringify(text)}, { file: '${file}' }).servers).length > 0) throw new Error()`
    const after = await filesLoaded(host, 'node_modules/', read)
    expect(packagesOf(after.slice(before.length))).toEqual([library])
  })

  it('makes a process at most seven times as costly as one that imports nothing', async () => {
    const [bare = 0, whole = 0] = await cpuOf(['node:fs', '@jackfield/host'])
    expect(bare).toBeGreaterThan(1)
    expect(whole).toBeGreaterThan(bare)
    expect(whole / bare).toBeLessThan(7)
  })
})

describe('the built host', () => {
  it('exports what its sources export, and no more', async () => {
    const sources: object = await import('@jackfield/host')
    const names = await printed(`
      console.log(JSON.stringify(Object.keys(await import('@jackfield/host'))))`)
    expect(JSON.parse(names).sort()).toEqual(Object.keys(sources).sort())
  })

  it('finds the worker that runs programs', async () => {
    const outcome = await printed(`
      const host = createHost({ servers: {}, store: ':memory:' })
      const { outcome, logs } = await host.code.run('console.log(6 * 7)')
      await host.close()
      console.log(outcome, logs.join())`)
    expect(outcome).toBe('ok 42')
  })

  it('finds the port forwarder of a sandbox', async ({ skip }) => {
    const readiness = await sandboxReady()
    skip(!readiness.ready, 'needs bubblewrap (bwrap)')
    const server = {
      command: process.execPath,
      args: ['-e', boxed],
      sandbox: { network: ['example.org:443'] },
    }
    const config = { 'config.json': JSON.stringify({ mcpServers: { boxed: server } }) }
    const words = ['call', 'boxed', 'way', '--config', 'config.json', '--store', ':memory:']
    const { stdout: way } = await commandRun(words, config)
    expect(way).toMatch(/^http:\/\/127\.0\.0\.1:\d+\s*$/)
  })

  it('names failures in its errors', async () => {
    const stack = await printed(`
      try { parseConfig('no') } catch (error) { console.log(error.constructor.name, error.stack) }`)
    expect(stack).toMatch(/^ConfigError .*\n.*at readJson.*\n.*at readDocument.*\n.*at parseConfig/s)
  })
})

describe('the built command', () => {
  it.each([
    ['its version', ['--version'], 0],
    ['help', ['--help'], 0],
    ['help of one command', ['tools', '--help'], 0],
    ['a command there is none of', ['tolls'], 2],
    ['an option there is none of', ['tools', '--colour'], 2],
  ])('loads neither the host nor the SDK for %s', async (_what, words, code) => {
    const ended = await commandRun(words)
    expect(ended.code).toBe(code)
    expect(ended.own.length).toBeGreaterThan(0)
    expect(ended.own.length, ended.own.join('\n')).toBeLessThanOrEqual(2)
    expect(ended.own.filter((file) => !file.startsWith('app/'))).toEqual([])
    expect(ended.others).toEqual(['commander', 'picocolors'])
  })

  it('loads few files of its own for a server, and no library that the server does not need', async () => {
    const words = ['tools', '--store', ':memory:', '--', process.execPath, '-e', boxed]
    const ended = await commandRun(words)
    expect(ended.stdout).toContain('way')
    const own = ended.own.filter((file) => file.startsWith('app/'))
    // What starts it, what commands share, the command, what clients of a host need, the host, and what is made for it.
    expect(own.length, own.join('\n')).toBeLessThanOrEqual(6)
    const needless = [
      '@clack/core',
      '@clack/prompts',
      'ai',
      'fflate',
      'jose',
      'jsonc-parser',
      'oauth4webapi',
      'smol-toml',
      'yaml',
      'zod',
    ]
    expect(ended.others.filter((name) => needless.includes(name))).toEqual([])
  })
})
