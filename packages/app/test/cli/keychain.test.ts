import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { builtProgram } from '../../../../test/setup/built-program.ts'
import { protectedServer } from '../../../sdk/test/client-auth/support/protected-server.ts'
import { json, listen } from '../../../sdk/test/client-auth/support/server.ts'
import { everything, jsonFile, runProcess, tempFolder } from './jackfield.ts'

const timeout = 120_000
const bin = builtProgram('jackfield')
const bubblewrap = ['/usr/bin/bwrap', '/usr/local/bin/bwrap'].find((file) => existsSync(file))
const keptInFile = 'the key that seals credentials is stored in'
/** No D-Bus session, so no Secret Service: what a server machine or a container has. */
const without = {
  DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nonexistent',
  XDG_RUNTIME_DIR: '/nonexistent',
  JACKFIELD_KEY_FILE: '',
}
const onLinux = test.runIf(process.platform === 'linux')

/** A D-Bus session that accepts connections and never answers. */
async function silentBus(): Promise<Record<string, string>> {
  const path = join(tempFolder(), 'bus')
  const server = createServer(() => {})
  await new Promise<void>((resolve) => server.listen(path, resolve))
  onTestFinished(() => void server.close())
  return { DBUS_SESSION_BUS_ADDRESS: `unix:path=${path}`, JACKFIELD_KEY_FILE: '' }
}

/** An HTTP server that answers every request with 401 and names no authorization server. */
async function refusing(): Promise<string> {
  const hand = await listen(({ res }) => json(res, {}, 401))
  onTestFinished(() => hand.close())
  return `${hand.origin}/mcp`
}

/** An HTTP server of 2026-07-28 that needs no credentials. */
async function openServer(): Promise<string> {
  const hand = await listen(({ res, body }) => {
    const { id, method } = JSON.parse(body)
    const list = { tools: [], ttlMs: 0, cacheScope: 'private' }
    const result =
      method === 'server/discover'
        ? { supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, ttlMs: 0, cacheScope: 'private' }
        : list
    json(res, { jsonrpc: '2.0', id, result: { resultType: 'complete', ...result } })
  })
  onTestFinished(() => hand.close())
  return `${hand.origin}/mcp`
}

onLinux('without a keychain a server that answers 401 leaves the others reachable', { timeout }, async () => {
  const shop = await protectedServer()
  const open = await openServer()
  const [command, ...args] = everything
  const config = [
    '--config',
    jsonFile({
      mcpServers: {
        refusing: { url: await refusing() },
        shop: { url: shop.url },
        local: { command, args },
        open: { url: open },
      },
    }),
  ]
  const env = { ...without, XDG_DATA_HOME: tempFolder() }
  for (const exitCode of [1, 0]) {
    const { stdout, stderr } = await runProcess(['servers', ...config], { env })
    expect(stdout).toMatch(/shop +▲ needs sign-in/)
    expect(stdout).toMatch(/open +● ready/)
    expect(stdout).not.toMatch(/keychain|keyring/i)
    expect(stderr.split(keptInFile)).toHaveLength(exitCode + 1)
  }
  const called = await runProcess(['tools', 'open', ...config], { env })
  expect(called).toMatchObject({ code: 0 })
})

onLinux(
  'without a keychain the key is in a file of mode 0600, which is reported once',
  { timeout },
  async () => {
    const data = tempFolder()
    const env = { ...without, XDG_DATA_HOME: data }
    const empty = await runProcess(['secret', 'list'], { env })
    expect(empty).toMatchObject({ code: 0, stderr: '' })
    const first = await runProcess(['secret', 'set', 'a'], { env, stdin: 'canary-a-123' })
    const file = join(data, 'jackfield', 'sealing.key')
    expect(first).toMatchObject({
      code: 0,
      stdout: 'a is stored in files sealed with a key file.\n',
      stderr: `no keychain on this system: ${keptInFile} ${file}, readable by you alone\n`,
    })
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const second = await runProcess(['secret', 'set', 'b'], { env, stdin: 'canary-b-123' })
    expect(second).toMatchObject({ code: 0, stderr: '' })
    const listed = await runProcess(['secret', 'list', '--json'], { env })
    expect(JSON.parse(listed.stdout)).toEqual({ kept: 'files sealed with a key file', names: ['a', 'b'] })
    expect(await runProcess(['secret', 'remove', 'a'], { env })).toMatchObject({ code: 0, stderr: '' })
  },
)

onLinux('JACKFIELD_KEYCHAIN=required keeps no key in a file', { timeout }, async () => {
  const data = tempFolder()
  const env = { ...without, XDG_DATA_HOME: data, JACKFIELD_KEYCHAIN: 'required' }
  const refused = await runProcess(['secret', 'set', 'a'], { env, stdin: 'canary-a-123' })
  expect(refused.code).not.toBe(0)
  expect(refused.stderr).toContain('No keychain of this system responds')
  expect(existsSync(join(data, 'jackfield', 'sealing.key'))).toBe(false)
  const misspelled = { ...env, JACKFIELD_KEYCHAIN: 'requierd' }
  expect(await runProcess(['secret', 'list'], { env: misspelled })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('JACKFIELD_KEYCHAIN can only be "required"'),
  })
})

onLinux('a keychain that does not answer is left out of the run, and the run ends', { timeout }, async () => {
  const data = tempFolder()
  const env = { ...(await silentBus()), XDG_DATA_HOME: data }
  const set = await runProcess(['secret', 'set', 'a'], { env, stdin: 'canary-a-123' })
  expect(set).toMatchObject({ code: 0, stdout: 'a is stored in files sealed with a key file.\n' })
  expect(set.stderr).toContain('the keychain did not answer within 5 s, so this run does not use it')
  expect(set.stderr).toContain(keptInFile)
  expect(JSON.parse((await runProcess(['secret', 'list', '--json'], { env })).stdout)).toMatchObject({
    names: ['a'],
  })
})

onLinux('what is sealed with the key in the keychain is not replaced without it', { timeout }, async () => {
  const data = tempFolder()
  // The same files as with the keychain, put in its folder.
  const made = { XDG_DATA_HOME: tempFolder(), JACKFIELD_KEY_FILE: join(tempFolder(), 'key') }
  await runProcess(['secret', 'set', 'old'], { env: made, stdin: 'canary-old-123' })
  const from = join(made.XDG_DATA_HOME, 'jackfield', 'secrets', 'key-file')
  const to = join(data, 'jackfield', 'secrets', 'keychain')
  mkdirSync(to, { recursive: true, mode: 0o700 })
  cpSync(from, to, { recursive: true })
  const contents = (): string[] => readdirSync(to).map((name) => readFileSync(join(to, name), 'latin1'))
  const before = contents()
  const env = { ...without, XDG_DATA_HOME: data }
  const again = await runProcess(['secret', 'set', 'old'], { env, stdin: 'canary-new-123' })
  expect(again.code).not.toBe(0)
  expect(again.stderr).toContain('can only be read with that key')
  expect(await runProcess(['secret', 'set', 'new'], { env, stdin: 'canary-new-123' })).toMatchObject({
    code: 0,
  })
  const listed = await runProcess(['secret', 'list', '--json'], { env })
  expect(JSON.parse(listed.stdout)).toMatchObject({ names: ['new'] })
  expect(listed.stderr).toContain('are left out of the list')
  expect(contents()).toEqual(before)
})

/** A configuration whose one server is given the secret `x`. */
function withSecret(): string {
  const [command, ...args] = everything
  return jsonFile({ mcpServers: { local: { command, args, env: { TOKEN: `\${${'secret:x'}}` } } } })
}

onLinux(
  'a keychain that is required and missing is named by every command about secrets',
  { timeout },
  async () => {
    const data = tempFolder()
    const env = { ...without, XDG_DATA_HOME: data, JACKFIELD_KEYCHAIN: 'required' }
    const words = [
      ['secret', 'set', 'x'],
      ['secret', 'list'],
      ['secret', 'remove', 'x'],
      ['tools', 'local', '--config', withSecret()],
    ]
    for (const given of words) {
      const { code, stdout, stderr } = await runProcess(given, { env, stdin: 'a-secret-value' })
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
      expect(stderr).toMatch(/[Nn]o keychain of this system responds|needs the package @napi-rs\/keyring/)
      expect(stderr).toContain('Set JACKFIELD_PASSPHRASE, or JACKFIELD_KEY_FILE')
    }
    expect(existsSync(join(data, 'jackfield', 'secrets', 'keychain'))).toBe(false)
  },
)

onLinux('a secret that is sealed with another key is named, with what to do', { timeout }, async () => {
  const env = { ...without, XDG_DATA_HOME: tempFolder() }
  const passphrase = { ...env, JACKFIELD_PASSPHRASE: 'the first passphrase' }
  expect((await runProcess(['secret', 'set', 'x'], { env: passphrase, stdin: 'a-secret-value' })).code).toBe(
    0,
  )
  const tools = ['tools', 'local', '--config', withSecret()]
  expect((await runProcess(tools, { env: passphrase })).code).toBe(0)
  const wrong = await runProcess(tools, { env: { ...env, JACKFIELD_PASSPHRASE: 'another passphrase' } })
  expect(wrong.code).toBe(2)
  expect(wrong.stderr).toContain(
    'The secret "x" is sealed with another key than the one in use. Use the passphrase or key file that it was stored with',
  )
  const none = await runProcess(tools, { env })
  expect(none.code).toBe(2)
  expect(none.stderr).toContain(
    'The secret "x" is stored under another key: it is sealed with a passphrase. Set JACKFIELD_PASSPHRASE to it',
  )
})

test.runIf(process.platform === 'linux' && bubblewrap !== undefined)(
  'secrets can be read on a read-only file system, and failed writes are named',
  { timeout },
  async () => {
    const home = tempFolder()
    const env = { ...without, XDG_DATA_HOME: join(home, 'data') }
    expect((await runProcess(['secret', 'set', 'x'], { env, stdin: 'a-secret-value' })).code).toBe(0)
    const readOnly = (...words: string[]) => {
      const { PATH } = process.env
      const box = ['--dev-bind', '/', '/', '--ro-bind', home, home, process.execPath, bin, ...words]
      const { status, stdout, stderr } = spawnSync(bubblewrap ?? '', box, {
        env: { HOME: home, PATH, ...env },
        input: 'another-value',
        encoding: 'utf8',
      })
      return { code: status, stdout, stderr }
    }
    const tools = readOnly('tools', 'local', '--no-store', '--config', withSecret())
    expect(tools).toMatchObject({ code: 0, stdout: expect.stringContaining('echo') })
    const set = readOnly('secret', 'set', 'y')
    expect(set.code).toBe(2)
    expect(set.stderr).toMatch(/^Cannot write \S+: the file system is read-only \(EROFS\)\./)
    expect(readOnly('config', 'list', '--no-store', '--config', withSecret()).code).toBe(0)
  },
)
