// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables are written so in configurations.
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createHost } from '@jackfield/host'
import { describe, expect, test } from 'vitest'
import { begin, everything, recorded, run, tempFolder } from './jackfield.ts'

const [command, ...args] = everything
const passphrase = { JACKFIELD_PASSPHRASE: 'correct horse battery staple' }

/** A folder with these files; it is also the person's home. */
function place(files: Record<string, unknown>): string {
  const cwd = tempFolder()
  for (const [name, value] of Object.entries(files)) {
    mkdirSync(dirname(join(cwd, name)), { recursive: true })
    writeFileSync(join(cwd, name), typeof value === 'string' ? value : JSON.stringify(value, null, 2))
  }
  return cwd
}

const ownFile = '.config/jackfield/config.json'

/** A program that leaves a file when it is started. */
const marker = (): { command: string; args: string[] } => ({
  command: process.execPath,
  args: ['-e', "require('node:fs').writeFileSync('started', '')"],
})

describe.concurrent('a server in a file of the folder', () => {
  test.each(['call', 'tools', 'servers', 'doctor'])('is not started by %s without consent', async (name) => {
    const cwd = place({ '.mcp.json': { mcpServers: { evil: marker() } } })
    const words = name === 'call' ? ['call', 'evil', 'x'] : [name]
    const { code, stdout, stderr } = await run([...words, '--store', 'log.db'], { cwd })
    expect(code).toBe(3)
    expect(`${stdout}${stderr}`).toContain('jackfield config allow evil')
    expect(existsSync(join(cwd, 'started'))).toBe(false)
  })

  test('is started after consent, until it changes', async () => {
    const cwd = place({ '.mcp.json': { mcpServers: { demo: { command, args } } } })
    const store = ['--store', 'log.db']
    const echo = ['call', 'demo', 'echo', 'message=hi', ...store]
    const allowed = await run(['config', 'allow', 'demo', ...store], { cwd })
    expect(allowed).toMatchObject({ code: 0, stderr: expect.stringContaining(args.join(' ')) })
    expect(await run(echo, { cwd })).toMatchObject({ code: 0, stdout: 'Echo: hi\n' })
    writeFileSync(
      join(cwd, '.mcp.json'),
      JSON.stringify({ mcpServers: { demo: { command, args, env: { A: '1' } } } }),
    )
    expect(await run(echo, { cwd })).toMatchObject({ code: 3 })
    const again = await run(['config', 'allow', 'demo', ...store], { cwd })
    expect(again.stderr).toContain('You agreed to this before')
    expect((await run(['config', 'forbid', 'demo', ...store], { cwd })).stdout).toContain(
      'needs your approval again',
    )
    expect(await run(echo, { cwd })).toMatchObject({ code: 3 })
    const { rows } = await recorded(store, cwd)
    expect(rows.filter(({ kind }) => kind === 'start').map(({ outcome }) => outcome)).toEqual([
      'ok',
      'error',
      'ok',
      'revoked',
      'error',
    ])
  })
})

describe.concurrent('config', () => {
  test('lists every server with its source file and pending decisions, and shows no secret', async () => {
    const cwd = place({
      '.mcp.json': { mcpServers: { here: { command: 'a', args: ['--api-key', 'canary-123456'] }, bad: {} } },
      [ownFile]: {
        mcpServers: {
          mine: { url: 'https://x.example/mcp', headers: { Authorization: 'Bearer canary-654321' } },
          off: { command: 'b', disabled: true },
        },
      },
    })
    const { code, stdout } = await run(['config', '--store', ':memory:'], { cwd })
    expect(code).toBe(2)
    expect(stdout).toMatch(/^3 servers in 2 files\n/)
    expect(stdout).toMatch(/here +needs approval +\.mcp\.json:3 \(project\) +a --api-key \[api-key\]/)
    expect(stdout).toMatch(/mine +on +\.config\/jackfield\/config\.json:3 \(user\)/)
    expect(stdout).toMatch(/off +off/)
    expect(stdout).toContain('.mcp.json:10: mcpServers.bad needs "command"')
    const explained = await run(['config', 'explain', '--store', ':memory:'], { cwd })
    expect(explained.stdout).toMatch(/headers\.Authorization +Bearer \[Authorization\] +\.config\S+:6 /)
    const json = await run(['config', 'explain', 'mine', '--json', '--store', ':memory:'], { cwd })
    expect(JSON.parse(json.stdout)).toMatchObject({
      name: 'mine',
      layer: 'user',
      fields: [{ field: 'url', line: 4 }, {}],
    })
    for (const text of [stdout, explained.stdout, json.stdout]) expect(text).not.toContain('canary')
  })

  test('copies servers of other applications into the own file, their secrets into the secret store', async () => {
    const codex =
      '[mcp_servers.notes]\ncommand = "notes"\n[mcp_servers.notes.env]\nNOTES_TOKEN = "canary-123456"\n'
    const cwd = place({ '.codex/config.toml': codex, [ownFile]: '{\n  // mine\n  "mcpServers": {}\n}\n' })
    const env = { ...passphrase, XDG_DATA_HOME: join(cwd, 'data') }
    const seen = await run(['config', 'import'], { cwd, env })
    expect(seen.stdout).toMatch(/notes +Codex/)
    const done = await run(['config', 'import', 'notes'], { cwd, env })
    expect(done).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('stored as secrets: notes.NOTES_TOKEN'),
    })
    const text = readFileSync(join(cwd, ownFile), 'utf8')
    expect(text).toContain('// mine')
    expect(text).toContain('"NOTES_TOKEN": "${secret:notes.NOTES_TOKEN}"')
    expect(statSync(join(cwd, ownFile)).mode & 0o077).toBe(0)
    expect(readFileSync(join(cwd, '.codex/config.toml'), 'utf8')).toBe(codex)
    expect((await run(['secret', 'list'], { cwd, env })).stdout).toContain('notes.NOTES_TOKEN')
    expect(await run(['config', 'import', 'notes'], { cwd, env })).toMatchObject({ code: 2 })
  })

  test('selects servers by profile', async () => {
    const cwd = place({
      [ownFile]: {
        mcpServers: { a: { command: 'a' }, b: { command: 'b' } },
        jackfield: { profiles: { one: { servers: ['a'] } } },
      },
    })
    const { stdout } = await run(['config', '--profile', 'one', '--json', '--store', ':memory:'], { cwd })
    const { servers } = JSON.parse(stdout)
    expect(servers).toMatchObject([
      { name: 'a', state: 'on' },
      { name: 'b', state: 'off' },
    ])
    expect(await run(['config', '--profile', 'two'], { cwd })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('no profile "two". There are: one'),
    })
  })
})

describe.concurrent('secret', () => {
  test('stores piped input, passes it only to the server, and never shows it', async () => {
    const cwd = place({
      [ownFile]: { mcpServers: { demo: { command, args, env: { API: '${secret:api}' } } } },
    })
    const env = { ...passphrase, XDG_DATA_HOME: join(cwd, 'data') }
    const missing = await run(['call', 'demo', 'get-env'], { cwd, env })
    expect(missing).toMatchObject({ code: 3, stderr: expect.stringContaining('jackfield secret set api') })
    const stored = await run(['secret', 'set', 'api'], { cwd, env, stdin: 'canary-123456\n' })
    expect(stored).toMatchObject({ code: 0, stdout: 'api is stored in files sealed with a passphrase.\n' })
    const called = await run(['call', 'demo', 'get-env', '-v'], { cwd, env })
    expect(called.stdout).toContain('"API": "[api]"')
    expect(`${called.stdout}${called.stderr}`).not.toContain('canary')
    expect((await run(['secret', 'remove', 'api'], { cwd, env })).code).toBe(0)
    expect((await run(['secret', 'list', '--json'], { cwd, env })).stdout).toContain('"names": []')
  })

  test('remove also deletes the stored answer to an input that is no secret', async () => {
    const cwd = place({})
    const env = { ...passphrase, XDG_DATA_HOME: join(cwd, 'data') }
    const file = join(cwd, 'config.json')
    const server = { command: process.execPath, args, env: { REGION: '${input:region}' } }
    mkdirSync(join(cwd, 'data/jackfield'), { recursive: true })
    {
      await using host = createHost({
        servers: { demo: { ...server, from: { file, layer: 'user', inputs: [{ id: 'region' }] } } },
        models: [],
        store: join(cwd, 'data/jackfield/activity.db'),
        surface: {
          name: 'test',
          show: { input: async () => ({ verdict: 'allow', value: 'eu' }) },
        },
      })
      await host.start()
      expect(host.connections.get('demo')?.state).toBe('ready')
    }
    const name = `input region of ${file}`
    expect(await run(['secret', 'remove', name], { cwd, env })).toMatchObject({ code: 0 })
    expect(await run(['secret', 'remove', name], { cwd, env })).toMatchObject({ code: 2 })
  })

  test('takes no value from the command line', async () => {
    const { code, stderr } = await run(['secret', 'set', 'api', 'canary-123456'], { env: passphrase })
    expect(code).toBe(2)
    expect(stderr).toContain('does not belong on the command line')
  })
})

test('doctor shows each step with its result and a fix', async () => {
  const good = await run(['doctor', '--', ...everything])
  expect(good).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/✓ handshake +\d+ ms {2}.+speaks 2025-11-25/),
  })
  const bad = await run(['doctor', '--json', '--', 'no-such-program'])
  expect(bad.code).toBe(3)
  expect(JSON.parse(bad.stdout)).toMatchObject({
    healthy: false,
    servers: [
      {
        steps: [
          { step: 'variables' },
          { step: 'environment', outcome: 'ok' },
          { step: 'command', outcome: 'failed', advice: expect.any(String) },
          {},
          {},
          {},
          {},
          {},
        ],
      },
    ],
  })
})

test('servers --watch watches the files', async () => {
  const demo = { command, args }
  const cwd = place({ [ownFile]: { mcpServers: { demo } } })
  const running = begin(['servers', '--watch', '--json', '--store', ':memory:'], { cwd })
  await running.waitForOutput('"demo"')
  writeFileSync(join(cwd, ownFile), JSON.stringify({ mcpServers: { demo, second: demo } }))
  await running.waitForOutput('{"server":"second","config":"added"}')
  writeFileSync(join(cwd, ownFile), '{ nonsense')
  await running.waitForOutput('is not valid JSON')
  writeFileSync(join(cwd, ownFile), JSON.stringify({ mcpServers: { second: demo } }))
  await running.waitForOutput('{"server":"demo","config":"removed"}')
  running.child.kill('SIGTERM')
  expect((await running.ended).code).toBe(143)
})
