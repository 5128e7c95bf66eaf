import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { run, runProcess, tempFolder } from './jackfield.ts'

/** A server whose one tool gives its environment back. */
const reporter = [
  process.execPath,
  '-e',
  `require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line)
    if (id === undefined) return
    const results = {
      initialize: () => ({ protocolVersion: params.protocolVersion, capabilities: { tools: {} },
        serverInfo: { name: 'reporter', version: '1' } }),
      'tools/list': () => ({ tools: [{ name: 'env', inputSchema: { type: 'object' } }] }),
      'tools/call': () => ({ content: [{ type: 'text', text: JSON.stringify(process.env) }] }),
    }
    const made = results[method]
    const answer = made ? { result: made() } : { error: { code: -32601, message: 'unknown' } }
    console.log(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
  })`,
]
/** A program that ends as soon as it is started, after some last words. */
const failing = (words: string): string[] => [
  process.execPath,
  '-e',
  `console.error(${JSON.stringify(words)}); process.exit(1)`,
]

const reported = async (options: string[], env: Record<string, string>) => {
  const { code, stdout, stderr } = await run(['call', 'env', ...options, '--', ...reporter], { env })
  const seen: Record<string, string> = code === 0 ? JSON.parse(stdout) : {}
  return { code, stderr, seen }
}

describe('a command after --', () => {
  it('gets the variables needed behind an intercepting proxy, as in the help example', async () => {
    const machine = {
      HTTPS_PROXY: 'http://proxy.corp.example:3128',
      https_proxy: 'http://proxy.corp.example:3128',
      NO_PROXY: 'localhost',
      NODE_EXTRA_CA_CERTS: '/etc/ssl/corp.pem',
      SSL_CERT_FILE: '/etc/ssl/corp.pem',
      npm_config_registry: 'https://npm.corp.example/',
    }
    const { seen, stderr } = await reported([], { ...machine, BRAVE_API_KEY: 'hunter2' })
    expect(seen).toMatchObject(machine)
    expect(seen).not.toHaveProperty('BRAVE_API_KEY')
    expect(stderr).not.toContain('was not given')
  })

  it('does not get a proxy variable with a password, and the warning names it', async () => {
    const { seen, stderr } = await reported([], { HTTPS_PROXY: 'http://ann:hunter2-hunter2@proxy.example' })
    expect(seen).not.toHaveProperty('HTTPS_PROXY')
    expect(stderr).toContain('HTTPS_PROXY of your environment was not passed to it')
    expect(stderr).toContain('--env HTTPS_PROXY')
    expect(stderr).not.toContain('hunter2')
    const inJson = await reported(['--json'], { HTTPS_PROXY: 'http://ann:hunter2-hunter2@proxy.example' })
    expect(JSON.parse(inJson.stderr)).toEqual({
      warning: expect.stringMatching(/HTTPS_PROXY of your environment was not passed to it, .*credentials$/),
      fixes: [{ action: 'pass-variable', server: expect.any(String), name: 'HTTPS_PROXY' }],
    })
    const again = await reported(['--env', 'HTTPS_PROXY'], {
      HTTPS_PROXY: 'http://ann:hunter2-hunter2@proxy.example',
    })
    expect(again.seen).toHaveProperty('HTTPS_PROXY')
    expect(again.stderr).toBe('')
  })

  it('gets the variables of --env, with a given value or the current one', async () => {
    const options = ['--env', 'BRAVE_API_KEY', '--env', 'MODE=a=b', '--env', 'EMPTY=']
    const { seen } = await reported(options, { BRAVE_API_KEY: 'not a secret' })
    expect(seen).toMatchObject({ BRAVE_API_KEY: expect.any(String), MODE: 'a=b', EMPTY: '' })
  })

  it.each([
    [['--env', 'NOT_SET_ANYWHERE'], 'NOT_SET_ANYWHERE: it is not set in your environment'],
    [['--env', '=x'], 'has no variable name'],
  ])('does not start with %j', async (options, why) => {
    expect(await reported(options, {})).toMatchObject({ code: 2, stderr: expect.stringContaining(why) })
  })

  it('is the only use of --env', async () => {
    const cwd = tempFolder()
    writeFileSync(join(cwd, 'c.json'), '{"mcpServers":{"s":{"command":"x"}}}')
    expect(await run(['tools', 's', '--config', 'c.json', '--env', 'A=1'], { cwd })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('write the variable under "env" there'),
    })
  })

  it('that does not start is reported with the variables that it named and did not get', async () => {
    const env = { BRAVE_API_KEY: 'hunter2', OTHER_KEY: 'x', BRAVE: 'y', NO_PROXY: 'localhost' }
    const words = [
      'tools',
      '--',
      ...failing('Error: BRAVE_API_KEY environment variable is required, NO_PROXY in HOME is not'),
    ]
    const { code, stderr } = await run(words, { env })
    expect(code).toBe(3)
    expect(stderr).toContain(
      'Its output names BRAVE_API_KEY, set in your environment but not passed to it. Pass with: --env BRAVE_API_KEY',
    )
    expect(stderr).not.toMatch(/hunter2|OTHER_KEY|BRAVE,/)
    const given = await run(['tools', '--env', 'BRAVE_API_KEY', ...words.slice(1)], { env })
    expect(given.stderr).not.toContain('It named')
    const unset = await run(words)
    expect(unset.stderr).not.toContain('It named')
  })
})

it('a configured server that does not start is reported with the entry to add', async () => {
  const cwd = tempFolder()
  const [command, ...args] = failing('missing BRAVE_API_KEY')
  writeFileSync(join(cwd, 'c.json'), JSON.stringify({ mcpServers: { s: { command, args } } }))
  const { stderr } = await run(['tools', 's', '--config', 'c.json'], {
    cwd,
    env: { BRAVE_API_KEY: 'hunter2' },
  })
  expect(stderr).toContain(`"env": { "BRAVE_API_KEY": "\${BRAVE_API_KEY}" }`)
})

it('install stores a variable of --env as a reference, unless its value is given', async () => {
  const cwd = tempFolder()
  const words = [
    'install',
    '--yes',
    '--name',
    'mine',
    '--env',
    'BRAVE_API_KEY',
    '--env',
    'MODE=a',
    '--no-start',
  ]
  const env = { BRAVE_API_KEY: 'hunter2' }
  expect(await run([...words, '--', ...reporter], { cwd, env })).toMatchObject({ code: 0 })
  const called = await run(['call', 'mine', 'env'], { cwd, env })
  expect(JSON.parse(called.stdout)).toMatchObject({ MODE: 'a', BRAVE_API_KEY: expect.any(String) })
  const config = await run(['config', 'explain', 'mine', '--json'], { cwd })
  expect(config.stdout).toContain(`\${BRAVE_API_KEY}`)
  expect(config.stdout).not.toContain('hunter2')
})

it('doctor lists the environment variables that a server gets and does not get', async () => {
  const env = { HTTPS_PROXY: 'http://proxy.example:1', BRAVE_API_KEY: 'hunter2' }
  const { stdout } = await runProcess(['doctor', '--', ...reporter], { env })
  expect(stdout).toMatch(/environment .*given: .*HTTPS_PROXY.*PATH.*; withheld: .*BRAVE_API_KEY/)
  expect(stdout).not.toContain('hunter2')
})

const withoutNpx = spawnSync('npx', ['--version']).status === 0 ? undefined : 'needs npx on the path'

describe.skipIf(withoutNpx !== undefined)(`a package of a project file [${withoutNpx ?? 'with npx'}]`, () => {
  it('is not taken from node_modules of the project, nor its registry from .npmrc there', async () => {
    const cwd = tempFolder()
    const marker = join(cwd, 'ran')
    const at = join(cwd, 'node_modules', 'stand-in-server')
    mkdirSync(at, { recursive: true })
    mkdirSync(join(cwd, 'node_modules', '.bin'))
    const manifest = { name: 'stand-in-server', version: '1.0.0', bin: 'run.js' }
    writeFileSync(join(at, 'package.json'), JSON.stringify(manifest))
    writeFileSync(
      join(at, 'run.js'),
      `#!/usr/bin/env node\nrequire('node:fs').writeFileSync(${JSON.stringify(marker)}, '')\n`,
      {
        mode: 0o755,
      },
    )
    symlinkSync('../stand-in-server/run.js', join(cwd, 'node_modules', '.bin', 'stand-in-server'))
    writeFileSync(join(cwd, 'package.json'), '{"dependencies":{"stand-in-server":"1.0.0"}}')
    writeFileSync(join(cwd, '.npmrc'), 'offline=false\nregistry=http://127.0.0.1:9/of-the-project/\n')
    const entry = { command: 'npx', args: ['-y', 'stand-in-server@1.0.0'] }
    writeFileSync(join(cwd, '.mcp.json'), JSON.stringify({ mcpServers: { s: entry } }))
    const env = { HOME: tempFolder(), npm_config_offline: 'true', npm_config_cache: tempFolder() }
    const allowed = await run(['config', 'allow', 's'], { cwd, env })
    expect(allowed.stderr).toMatch(/npx -y stand-in-server@1\.0\.0\nThe program is: \/\S+npx/)
    expect(allowed.stderr).toMatch(/It runs in \S+\/jackfield\/servers\/\w+ and not in this folder/)
    const { code, stderr } = await run(['tools', 's'], { cwd, env })
    expect({ code, ran: existsSync(marker) }).toEqual({ code: 3, ran: false })
    expect(stderr).toContain('ENOTCACHED')
    expect(stderr).not.toContain('of-the-project')
  })
})
