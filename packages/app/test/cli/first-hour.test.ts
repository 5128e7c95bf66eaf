import { mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { delimiter, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { differingVariables, environmentDigests } from '../../src/daemon/environment.ts'
import { run, runProcess, tempFolder } from './jackfield.ts'

/** A server in one file, of the SDK, with these tools. */
const program = (tools: string): string => `
  const { defineServer, tool } = await import(${JSON.stringify(import.meta.resolve('@jackfield/sdk'))})
  const { serveStdio } = await import(${JSON.stringify(import.meta.resolve('@jackfield/sdk/stdio'))})
  serveStdio(defineServer({ name: 'mine', version: '1.0.0', tools: { ${tools} }, resources: {} }))`

/** A folder with files. */
function folder(files: Readonly<Record<string, string>>): string {
  const cwd = tempFolder()
  for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, name), text)
  return cwd
}

/** An HTTP server that answers everything with a status and a text. */
async function answering(status: number, text: string): Promise<string> {
  const server = createServer((_request, response) => response.writeHead(status).end(text))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const address = server.address()
  return `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`
}

describe.concurrent('mistakes of a first hour', { timeout: 60_000 }, () => {
  test('a tool that throws: the error and its line are shown, without the lines of packages', async () => {
    const cwd = folder({
      'server.mjs': program(`broken: tool({ run: () => { throw new Error('the disk is full') } })`),
    })
    const { code, stderr } = await runProcess(['call', 'broken', '--', process.execPath, 'server.mjs'], {
      cwd,
    })
    expect(code).toBe(1)
    expect(stderr).toContain('Its stderr says why, and -v shows all of it:')
    expect(stderr).toContain('Error: the disk is full')
    expect(stderr).toMatch(/at .*server\.mjs:4/)
    expect(stderr).not.toMatch(/node_modules|node:/)
  })

  test('an error of syntax: its file and line are named', async () => {
    const cwd = folder({ 'server.mjs': 'const a = 1\nconst b = {\n' })
    const { code, stderr } = await runProcess(['tools', '--', process.execPath, 'server.mjs'], { cwd })
    expect(code).toBe(3)
    expect(stderr).toMatch(/SyntaxError: .* \(\S+server\.mjs:\d\)/)
  })

  test('a program that is silent: it is said what it may be', async () => {
    const silent = ['--', process.execPath, '-e', 'setInterval(() => {}, 1000)']
    const { code, stderr } = await runProcess(['tools', '--timeout', '2', ...silent])
    expect(code).toBe(3)
    expect(stderr).toContain('Its program runs, but sends no MCP message on stdout.')
  })

  test('a resource that does not exist: its list is named', async () => {
    const cwd = folder({ 'server.mjs': program('') })
    const { code, stderr } = await runProcess(['read', 'a:b', '--', process.execPath, 'server.mjs'], { cwd })
    expect(code).toBe(4)
    expect(stderr).toContain('List its resources: jackfield resources -- ')
  })

  test('JSON with a missing comma: it says so, and does not advise to add a server', async () => {
    const cwd = folder({ '.mcp.json': '{ "mcpServers": {\n  "a": { "command": "x" }\n  "b": {} } }' })
    for (const [command, expected] of [
      ['tools', 3],
      ['servers', 2],
      ['doctor', 2],
    ] as const) {
      const { code, stdout, stderr } = await run([command], { cwd })
      expect({ command, code }).toEqual({ command, code: expected })
      expect(stderr).toContain('is not valid JSON (line 3 column 3): a comma is missing before this place')
      expect(stdout + stderr).toContain('Correct what is reported above.')
      expect(stdout + stderr).not.toContain('jackfield install')
    }
  })

  test('suggested commands have the options that selected the servers', async () => {
    const cwd = folder({ 'my config.json': '{ "mcpServers": { "a": { "command": "no-such-program" } } }' })
    const options = ['--config', 'my config.json']
    const { stderr } = await run(['tools', 'a', ...options], { cwd })
    expect(stderr).toContain("jackfield doctor a --config 'my config.json'\n")
    const { stdout } = await run(['doctor', 'a', ...options], { cwd })
    expect(stdout).toContain('no folder in PATH contains a program "no-such-program"')
  })

  test('a gateway on a port in use: the address on the command line is wrong, as for the web app', async () => {
    const { host } = new URL(await answering(200, ''))
    const cwd = folder({ '.mcp.json': '{ "mcpServers": {} }' })
    const { code, stderr } = await run(['gateway', '--http', host], { cwd })
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('another program uses it') })
  })

  test('the list of a group can be written', async () => {
    const env = { XDG_DATA_HOME: tempFolder() }
    for (const group of ['config', 'secret', 'policy', 'roots', 'sampling', 'daemon', 'tasks', 'activity']) {
      const seen = await Promise.all([run([group], { env }), run([group, 'list'], { env })])
      const [plain, list] = seen.map(({ code, stdout, stderr }) => ({ code, stdout, stderr }))
      expect({ group, ...list, stdout: '' }).toEqual({ group, ...plain, stdout: '' })
    }
    expect(await run(['roots', 'lst'], { env })).toMatchObject({ code: 2 })
  })

  test('doctor does not say that all is well where it has a remark', async () => {
    const cwd = folder({ 'server.mjs': `console.log('Server started')${program('')}` })
    const { code, stdout } = await run(['doctor', '--', process.execPath, join(cwd, 'server.mjs')])
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringContaining('No problems found; see the lines with "!".'),
    })
  })

  test('a server without consent: the step of doctor is called consent, and variables in JSON', async () => {
    const cwd = folder({ '.mcp.json': '{ "mcpServers": { "a": { "command": "x" } } }' })
    const { stdout } = await run(['doctor'], { cwd })
    expect(stdout).toMatch(/✗ consent .*you have not agreed yet/)
    const json = JSON.parse((await run(['doctor', '--json'], { cwd })).stdout)
    expect(json.servers[0].steps[0]).toMatchObject({ step: 'variables', outcome: 'failed' })
  })

  test('a broken URL is written as it should be', async () => {
    const { code, stderr } = await run(['tools', 'http//localhost:3000/mcp'])
    expect({ code, stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Write http://localhost:3000/mcp'),
    })
  })

  test('403 without a challenge: a login is not advised', async () => {
    const url = await answering(403, 'Forbidden: the Host header is unknown')
    const { code, stderr } = await run(['tools', `${url}/mcp`])
    expect(code).toBe(3)
    expect(stderr).toContain('the Host header is unknown')
    expect(stderr).not.toMatch(/jackfield login|--header/)
    expect(stderr).toContain(`jackfield doctor ${url}/mcp`)
  })

  test('the name of an npm package: the command that runs it is named', async () => {
    const { code, stderr } = await run(['install', '@acme/server-notes@1.2.3'])
    expect(code).toBe(2)
    expect(stderr).toContain('jackfield install -- npx -y @acme/server-notes@1.2.3')
  })
})

describe('a server process that others use', { timeout: 60_000 }, () => {
  test('is reported when its file changed since it was started', async () => {
    const cwd = folder({
      'server.mjs': program(`hello: tool({ run: () => 'Hello.' })`),
      '.mcp.json': JSON.stringify({
        mcpServers: { mine: { command: process.execPath, args: ['server.mjs'] } },
      }),
    })
    const options = { cwd, env: { HOME: cwd, XDG_DATA_HOME: tempFolder(), JACKFIELD_DAEMON: 'on' } }
    onTestFinished(async () => void (await run(['daemon', 'stop', '--all', '--now'], options)))
    const call = ['call', 'mine.hello', '--start-what-this-folder-names']
    expect(await runProcess(call, options)).toMatchObject({ code: 0, stderr: '' })
    const later = new Date(Date.now() + 60_000)
    utimesSync(join(cwd, 'server.mjs'), later, later)
    const { code, stderr } = await runProcess(call, options)
    expect({ code, stderr }).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('server.mjs changed since mine was started'),
    })
    expect(stderr).toContain('jackfield daemon stop')
  })
})

describe('the variables of the host process', () => {
  const home = '/home/ann'
  const plain = { HOME: home, PATH: ['/usr/bin', '/bin'].join(delimiter) }
  /** What npm sets for the programs that it runs in a folder. */
  const inNpm = (cwd: string): Record<string, string> => ({
    ...plain,
    PATH: [join(cwd, 'node_modules', '.bin'), '/usr/bin', '/bin'].join(delimiter),
    npm_execpath: '/usr/lib/node_modules/npm/bin/npm-cli.js',
    npm_config_userconfig: join(home, '.npmrc'),
    npm_config_cache: join(home, '.npm'),
    npm_config_global_prefix: '/usr',
    npm_config_globalconfig: join('/usr', 'etc', 'npmrc'),
  })
  const names = ['PATH', 'npm_config_userconfig', 'npm_config_cache', 'npm_config_globalconfig']

  test('are the same with npx and without', () => {
    const npx = inNpm(tempFolder())
    expect(differingVariables(plain, environmentDigests(npx, names, ['node']))).toEqual([])
    expect(differingVariables(npx, environmentDigests(plain, names, ['node']))).toEqual([])
  })

  test('differ where npm adds a program of a server, or a value was chosen', () => {
    const cwd = tempFolder()
    const bin = join(cwd, 'node_modules', '.bin')
    mkdirSync(bin, { recursive: true })
    writeFileSync(join(bin, 'tsx'), '')
    const npx = inNpm(cwd)
    expect(differingVariables(plain, environmentDigests(npx, names, ['tsx']))).toEqual(['PATH (tsx)'])
    expect(differingVariables(npx, environmentDigests(plain, names, ['tsx']))).toEqual(['PATH (tsx)'])
    const chosen = { ...npx, npm_config_cache: '/elsewhere' }
    expect(differingVariables(plain, environmentDigests(chosen, names))).toEqual(['npm_config_cache'])
    const further = { ...plain, PATH: ['/opt/bin', plain.PATH].join(delimiter) }
    expect(differingVariables(further, environmentDigests(plain, names))).toEqual(['PATH'])
  })
})
