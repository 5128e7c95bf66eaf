import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { everything, jsonFile, run, tempFolder } from './jackfield.ts'

const stored = 'stored-4c1f22d9a0b7'
const exported = 'exported-9f8e7d6c5b4a'
const answered = 'answered-0a1b2c3d4e5f'
const [command = '', ...args] = everything

const variable = (name: string): string => `\${${name}}`

/** A folder whose configuration has a server without secrets, and others that are given some. */
async function place(key: Record<string, string>) {
  const cwd = tempFolder()
  const config = jsonFile({
    inputs: [{ type: 'promptString', id: 'pass', password: true }],
    mcpServers: {
      plain: { command, args },
      shop: {
        url: 'https://shop.example/mcp',
        headers: { Authorization: `Bearer ${variable('secret:shop')}` },
      },
      vendor: {
        url: 'https://vendor.example/mcp',
        headers: { Authorization: `Bearer ${variable('env:VENDOR')}` },
      },
      bank: { command, args, env: { PASS: variable('input:pass') } },
    },
  })
  const data = join(cwd, 'data')
  const env = { XDG_DATA_HOME: data, VENDOR: exported, ...key }
  const set = (name: string, stdin: string) => run(['secret', 'set', name], { cwd, env, stdin })
  expect((await set('shop', stored)).code).toBe(0)
  expect((await set(`input pass of ${config}`, answered)).code).toBe(0)
  const bytes = (): string =>
    readdirSync(data, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
      .join('')
  return { cwd, env, config, bytes }
}

const message = `message=${stored} ${exported} ${answered}`
const redacted = '[shop] [Authorization] [pass]'

describe.each([
  ['a key file', () => ({ JACKFIELD_KEY_FILE: join(tempFolder(), 'key') })],
  ['a passphrase', () => ({ JACKFIELD_PASSPHRASE: 'a long enough passphrase' })],
  ['the key file of a system without a keychain', () => ({})],
])('secrets of other servers, sealed with %s', (_, key) => {
  test('are neither printed nor stored by a call of a server without secrets', async () => {
    const { cwd, env, config, bytes } = await place(key())
    for (const words of [
      ['call', 'plain.echo', message, '--config', config],
      ['call', 'echo', message, '--config', config, '--', ...everything],
    ]) {
      const { code, stdout } = await run(words, { cwd, env })
      expect({ code, stdout }).toEqual({ code: 0, stdout: `Echo: ${redacted}\n` })
    }
    for (const value of [stored, exported, answered]) expect(bytes()).not.toContain(value)
  })
})

test('an unusable secret store does not affect servers without secrets', async () => {
  const { cwd, env, config } = await place({ JACKFIELD_PASSPHRASE: 'a long enough passphrase' })
  const { code, stdout } = await run(['call', 'plain.echo', 'message=hi', '--config', config], {
    cwd,
    env: { ...env, JACKFIELD_PASSPHRASE: 'another long passphrase' },
  })
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'Echo: hi\n' })
})
