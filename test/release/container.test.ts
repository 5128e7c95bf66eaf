import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { readManifest } from '../../scripts/fresh-project.ts'
import { LocalRegistry } from '../../scripts/local-registry.ts'
import { root, run } from '../../scripts/run.ts'
import { packedOnce } from '../setup/packed-once.ts'

const text = readFileSync(join(root, 'Dockerfile'), 'utf8')
/** The instructions: continued lines joined, without comments. */
const instructions = text
  .replaceAll(/\\\n\s*/g, '')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => {
    const [, name = '', value = ''] = /^([A-Z]+) (.*)$/.exec(line) ?? []
    return { name, value }
  })
const valuesOf = (name: string): string[] =>
  instructions.filter((one) => one.name === name).map(({ value }) => value)

describe('the container image', () => {
  it('has only known instructions, a pinned release line of Node, and no shell at its entry', () => {
    const known = ['FROM', 'ARG', 'RUN', 'COPY', 'ENV', 'USER', 'WORKDIR', 'VOLUME', 'ENTRYPOINT', 'CMD']
    expect(instructions.filter(({ name }) => !known.includes(name))).toEqual([])
    for (const image of valuesOf('FROM')) expect(image).toMatch(/^node:24-alpine( AS \w+)?$/)
    for (const name of ['ENTRYPOINT', 'CMD']) {
      for (const value of valuesOf(name)) expect(Array.isArray(JSON.parse(value))).toBe(true)
    }
  })

  it('runs as a user without rights, and nothing is written as root later', () => {
    const names = instructions.map(({ name }) => name)
    expect(valuesOf('USER')).toEqual(['node'])
    expect(names.lastIndexOf('RUN')).toBeLessThan(names.indexOf('USER'))
    expect(names.lastIndexOf('COPY')).toBeLessThan(names.indexOf('USER'))
  })

  it('installs the command with its own lockfile lines, from an empty folder', {
    timeout: 120_000,
  }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'jackfield-container-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }))
    const registry = await LocalRegistry.start(await packedOnce())
    onTestFinished(() => registry.close())
    const { version } = readManifest(join(root, 'packages/app'))
    const env = {
      HOME: folder,
      npm_config_cache: join(folder, 'cache'),
      npm_config_registry: registry.url,
      npm_config_update_notifier: 'false',
    }
    const [install = '', clean = ''] = valuesOf('RUN').map((line) =>
      line.replaceAll('/opt/jackfield', join(folder, 'app')),
    )
    const without = await run(['sh', '-c', install], {
      limitMs: 60_000,
      cwd: folder,
      env: { ...env, VERSION: '' },
    })
    expect(without.code).not.toBe(0)
    expect(without.output).toContain('set it with --build-arg VERSION')
    for (const line of [install, clean]) {
      const { code, output } = await run(['sh', '-c', line], {
        limitMs: 100_000,
        cwd: folder,
        env: { ...env, VERSION: version },
      })
      expect({ line, code, output: code === 0 ? '' : output }).toEqual({ line, code: 0, output: '' })
    }
    const jackfield = join(folder, 'app/node_modules/.bin/jackfield')
    const server = ['node', join(root, 'examples/quickstart/server.ts')]
    const options = { limitMs: 60_000, cwd: folder, env: { HOME: folder, JACKFIELD_DAEMON: 'off' } }
    expect(await run([jackfield, '--version'], options)).toMatchObject({ code: 0, output: `${version}\n` })
    const listed = await run([jackfield, 'tools', '--', ...server], options)
    expect(listed).toMatchObject({ code: 0, output: expect.stringContaining('refund') })
  })
})
