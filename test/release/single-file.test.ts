import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readManifest } from '../../scripts/fresh-project.ts'
import { root, run } from '../../scripts/run.ts'

const limitMs = 240_000
const built = join(root, `results/single-file/jackfield-${process.platform}-${process.arch}`)
const missing =
  process.platform !== 'linux'
    ? ' (Linux only)'
    : existsSync(join(root, 'scripts/single-file/node_modules/postject'))
      ? ''
      : ' (postject is not installed: npm ci --prefix scripts/single-file)'

describe.skipIf(missing !== '')(`jackfield as a single file${missing}`, () => {
  const folder = mkdtempSync(join(tmpdir(), 'jackfield-single-file-test-'))
  const file = join(folder, 'jackfield')
  const home = join(folder, 'home')

  beforeAll(async () => {
    const { code, output } = await run(['node', 'scripts/single-file/build.ts'], { limitMs })
    expect({ code, output: code === 0 ? '' : output }).toEqual({ code: 0, output: '' })
    cpSync(built, file)
    mkdirSync(home)
  }, limitMs)
  afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }))

  /** Runs the file with nothing else installed. */
  function jackfield(words: string[], env: Record<string, string> = {}) {
    const variables = {
      HOME: home,
      XDG_CACHE_HOME: '',
      XDG_DATA_HOME: '',
      XDG_CONFIG_HOME: '',
      NODE_OPTIONS: '',
      ...env,
    }
    return run([file, ...words], { limitMs: 60_000, cwd: folder, env: variables })
  }

  it('prints its version, and unpacks itself once, for its user only', { timeout: limitMs }, async () => {
    const { version } = readManifest(join(root, 'packages/app'))
    expect(await jackfield(['--version'])).toMatchObject({ code: 0, output: `${version}\n` })
    expect(await jackfield(['--version'])).toMatchObject({ code: 0, output: `${version}\n` })
    expect(readdirSync(join(home, '.cache/jackfield'))).toHaveLength(1)
  })

  it('lists the tools of a stdio server', { timeout: limitMs }, async () => {
    const server = [process.execPath, join(root, 'examples/quickstart/server.ts')]
    const listed = await jackfield(['tools', '--', ...server], { JACKFIELD_DAEMON: 'off' })
    expect(listed).toMatchObject({ code: 0, output: expect.stringContaining('refund') })
  })

  it('starts its own processes: the host process, programs over tools, and the travel server', {
    timeout: limitMs,
  }, async () => {
    const config = join(home, '.config/jackfield')
    mkdirSync(config, { recursive: true })
    const shop = { command: process.execPath, args: [join(root, 'examples/quickstart/server.ts')] }
    writeFileSync(join(config, 'config.json'), JSON.stringify({ mcpServers: { shop } }))
    const on = { JACKFIELD_DAEMON: 'on' }
    expect(await jackfield(['tools', 'shop'], on)).toMatchObject({ code: 0 })
    const status = await jackfield(['daemon', 'status'], on)
    const stopped = await jackfield(['daemon', 'stop'], on)
    expect(status.output).not.toContain('No host process runs')
    expect(stopped.code).toBe(0)

    writeFileSync(join(folder, 'sum.ts'), 'return [1, 2, 3].reduce((a: number, b: number) => a + b)')
    const ran = await jackfield(['run', 'sum.ts', '--json'], { JACKFIELD_DAEMON: 'off' })
    expect(ran).toMatchObject({ code: 0, output: expect.stringContaining('6') })

    const started = await jackfield(['start'], { JACKFIELD_DAEMON: 'off' })
    expect(started).toMatchObject({ code: 0, output: expect.stringContaining('travel') })
  })

  it('unpacks to no folder that others can write to', { timeout: limitMs }, async () => {
    const shared = join(folder, 'shared')
    const unusable = join(folder, 'unusable')
    mkdirSync(join(shared, 'jackfield'), { recursive: true })
    chmodSync(join(shared, 'jackfield'), 0o777)
    writeFileSync(unusable, '')
    const { code, output } = await jackfield(['--version'], { XDG_CACHE_HOME: shared, TMPDIR: unusable })
    expect({ code, output }).toMatchObject({
      code: 2,
      output: expect.stringContaining('others can write to it'),
    })
    expect(output).toContain('Set XDG_CACHE_HOME')
    expect(readdirSync(join(shared, 'jackfield'))).toEqual([])
  })
})
