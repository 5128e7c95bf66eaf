import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { LocalRegistry } from '../../../scripts/local-registry.ts'
import { run } from '../../../scripts/run.ts'
import { packedOnce } from '../../../test/setup/packed-once.ts'
import { freePort } from '../../../test/setup/ports.ts'

const limitMs = 120_000
const folder = mkdtempSync(join(tmpdir(), 'jackfield-first-hour-'))
let env: Record<string, string>
let registry: LocalRegistry

beforeAll(async () => {
  registry = await LocalRegistry.start(await packedOnce())
  env = {
    HOME: folder,
    USERPROFILE: folder,
    XDG_DATA_HOME: '',
    XDG_CONFIG_HOME: '',
    JACKFIELD_DAEMON: 'off',
    // A cache of its own: the same version has other contents after each build.
    npm_config_cache: join(folder, 'cache'),
    npm_config_registry: registry.url,
    npm_config_update_notifier: 'false',
    npm_config_audit: 'false',
    npm_config_prefer_offline: 'true',
    npm_config_yes: 'true',
  }
}, limitMs)

afterAll(async () => {
  await registry?.close()
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
}, limitMs)

/** What a command in a folder prints; it must succeed. */
async function output(cwd: string, ...command: string[]): Promise<string> {
  const finished = await run(command, { limitMs, cwd, env })
  expect({ command, ...finished, output: '' }, finished.output).toEqual({
    command,
    code: 0,
    timedOut: false,
    output: '',
  })
  return finished.output
}

/** Creates a project of a template in an empty folder, with its dependencies installed. */
async function create(template: string): Promise<string> {
  const empty = mkdtempSync(join(folder, `${template}-`))
  await output(empty, 'npm', 'create', 'jackfield', 'notes', '--', '--template', template)
  return join(empty, 'notes')
}

/** Runs the tests, the compiler and the build of a project. */
async function check(project: string): Promise<void> {
  expect(await output(project, 'npm', 'test')).toMatch(/pass [1-9][\s\S]*fail 0/)
  // As npm starts scripts, without the time that npm takes.
  for (const script of ['typecheck', 'build']) await output(project, 'node', '--run', script)
}

describe('from an empty folder', () => {
  it('two commands call a tool: npm create jackfield, and npm run call', { timeout: limitMs }, async () => {
    const project = await create('stdio')
    expect(await output(project, 'npm', 'run', 'call')).toContain('Added note 1: Hello')
    await check(project)
    const built = ['npx', 'jackfield', 'call', 'add', 'text=Hello', '--', 'node', 'dist/main.js']
    expect(await output(project, ...built)).toContain('Added note 1: Hello')
  })

  it('the http template serves, and prints a command that calls a tool', { timeout: limitMs }, async () => {
    const project = await create('http')
    await check(project)
    const open = await run(['node', 'src/main.ts'], { limitMs, cwd: project, env: { HOST: '0.0.0.0' } })
    expect(open).toMatchObject({ code: 2, output: expect.stringContaining('Set ISSUER') })
    const server = spawn(process.execPath, ['src/main.ts'], {
      cwd: project,
      env: { ...process.env, PORT: String(await freePort()) },
    })
    onTestFinished(() => void server.kill('SIGKILL'))
    const lines: string[] = []
    for await (const line of createInterface({ input: server.stdout })) {
      lines.push(line)
      if (line.startsWith('npx ')) break
    }
    const [, words = '', header = ''] = /^npx (.*) --header "(.*)"$/.exec(lines.at(-1) ?? '') ?? []
    const call = ['npx', ...words.split(' '), '--header']
    expect(await output(project, ...call, header)).toContain('Added note 1: Hello')
    const without = await run(call.slice(0, -1), { limitMs, cwd: project, env })
    expect(without).toMatchObject({ code: 3, output: expect.stringContaining('/no-issuer-is-set') })
    expect(without.output).toContain("--header 'Authorization: Bearer <token>'")
    const refused = await run([...call, 'Authorization: Bearer wrong'], { limitMs, cwd: project, env })
    expect({ code: refused.code, output: refused.output }).toMatchObject({ code: 3 })
    const ended = once(server, 'exit')
    server.kill('SIGTERM')
    expect(await ended).toEqual([0, null])
  })

  it('the host template calls tools by its rules', { timeout: limitMs }, async () => {
    const project = await create('host')
    await check(project)
    const printed = await output(project, 'npm', 'start')
    expect(printed).toContain('notes__add (allow by add): Added note 1: Buy milk')
    expect(printed).toContain('notes__clear was refused')
    expect(await output(project, 'npm', 'run', 'call')).toContain('Added note 1: Hello')
  })
})
