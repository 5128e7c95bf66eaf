import { createHash } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { delimiter, dirname, join } from 'node:path'
import type { Activity } from '@jackfield/host'
import { describe, expect, it, onTestFinished } from 'vitest'
import { bundle } from '../../../host/test/bundle/zips.ts'
import { registry, weather } from '../../../host/test/registry/stand-in.ts'
import { run, runProcess, tempFolder, travel } from '../cli/jackfield.ts'

/** A person's home, with a launcher of packages that starts the travel server and notes what it was asked to start. */
function home(launcher = 'npx') {
  const cwd = tempFolder()
  const bin = join(cwd, 'bin')
  const noted = join(cwd, 'noted')
  mkdirSync(bin)
  const words = travel().map((word) => `'${word}'`)
  writeFileSync(
    join(bin, launcher),
    `#!/bin/sh\necho "$@" "$REGION" "$WEATHER_TOKEN" > ${noted}\nexec ${words.join(' ')}\n`,
  )
  chmodSync(join(bin, launcher), 0o700)
  const env = {
    PATH: [bin, dirname(process.execPath), '/usr/bin', '/bin'].join(delimiter),
    XDG_DATA_HOME: join(cwd, 'data'),
    JACKFIELD_DAEMON: 'off',
    JACKFIELD_KEY_FILE: join(cwd, 'key'),
  }
  const config = join(cwd, '.config', 'jackfield', 'config.json')
  return {
    cwd,
    config,
    /** Runs a command that starts no launcher. */
    jackfield: (args: string[], stdin = '') => run(args, { cwd, env, stdin }),
    /** Runs a command as a process, whose PATH has the launcher. */
    starting: (args: string[]) => runProcess(args, { cwd, env }),
    written: () => JSON.parse(readFileSync(config, 'utf8')),
    noted: () => readFileSync(noted, 'utf8').trim(),
  }
}

/** A place that has one file. */
async function served(bytes: Uint8Array): Promise<{ url: string }> {
  const server = createServer((_request, response) => response.end(bytes))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const address = server.address()
  return { url: `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}` }
}

const installs = async ({ jackfield }: ReturnType<typeof home>): Promise<Activity[]> => {
  const all: Activity[] = JSON.parse((await jackfield(['activity', '--json'])).stdout).activity
  return all.filter(({ kind }) => kind === 'install')
}

describe('a command', () => {
  it('is installed with whole paths, since the server is started in any folder', async () => {
    const at = home()
    writeFileSync(join(at.cwd, 'server.mjs'), '')
    const words = [
      'install',
      '--yes',
      '--no-start',
      '--',
      'node',
      'server.mjs',
      './data',
      '--level',
      'info',
      'data',
    ]
    expect(await at.jackfield(words)).toMatchObject({ code: 0 })
    expect(Object.values(at.written().mcpServers)[0]).toEqual({
      command: 'node',
      args: [join(at.cwd, 'server.mjs'), join(at.cwd, 'data'), '--level', 'info', 'data'],
    })
  })
})

describe('a server of the registry', () => {
  it('is found, installed, started and removed', async () => {
    const { url } = await registry([weather])
    const at = home()
    const found = await at.jackfield(['registry', 'search', 'weather', '--registry', url])
    expect(found.stdout).toContain('1 server in')
    expect(found.stdout).toContain('io.github.ann/weather')
    const shown = await at.jackfield(['registry', 'show', 'io.github.ann/weather', '--registry', url])
    expect(shown.stdout).toContain('npx -y @ann/weather@1.4.0 --units metric')

    await at.jackfield(['secret', 'set', 'weather.WEATHER_TOKEN'], 'hush-hush-token')
    const words = ['install', 'io.github.ann/weather', '--yes', '--set', 'REGION=eu', '--registry', url]
    const installed = await at.starting(words)
    expect(installed).toMatchObject({ code: 0 })
    expect(installed.stderr).toContain('io.github.ann')
    expect(installed.stderr).toContain('WEATHER_TOKEN (secret)')
    expect(installed.stdout).toContain('It runs, and has')
    expect(at.noted()).toBe('-y @ann/weather@1.4.0 --units metric eu hush-hush-token')
    expect(at.written().mcpServers.weather).toEqual({
      command: 'npx',
      args: ['-y', '@ann/weather@1.4.0', '--units', 'metric'],
      env: { WEATHER_TOKEN: `\${secret:weather.WEATHER_TOKEN}`, REGION: 'eu' },
    })
    expect((await at.starting(['tools', 'weather'])).stdout).toContain('searchFlights')

    expect(await at.jackfield(words)).toMatchObject({ code: 2, stderr: expect.stringContaining('already') })
    const gone = await at.jackfield(['uninstall', 'weather'])
    expect(gone.stdout).toContain('weather.WEATHER_TOKEN')
    expect(at.written().mcpServers).toEqual({})
    expect((await at.jackfield(['secret', 'list'])).stdout).not.toContain('weather.WEATHER_TOKEN')
    expect(await at.jackfield(['uninstall', 'weather'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('has no server "weather". It has none.'),
    })
  })

  it('is not installed without consent, and no other file is written', async () => {
    const { url } = await registry([weather])
    const at = home()
    const foreign = join(at.cwd, '.mcp.json')
    writeFileSync(foreign, '{ "mcpServers": {} }')
    const asked = await at.jackfield(['install', 'io.github.ann/weather', '--registry', url])
    expect(asked).toMatchObject({ code: 2, stderr: expect.stringContaining('add --yes') })
    expect(existsSync(at.config)).toBe(false)
    const secret = [
      'install',
      'io.github.ann/weather',
      '--yes',
      '--set',
      'WEATHER_TOKEN=x',
      '--registry',
      url,
    ]
    expect(await at.jackfield(secret)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('jackfield secret set weather.WEATHER_TOKEN'),
    })
    expect(existsSync(at.config)).toBe(false)
    expect(readFileSync(foreign, 'utf8')).toBe('{ "mcpServers": {} }')
  })

  it('is rejected before any question if its secrets could not be stored', async () => {
    const { url } = await registry([weather])
    const at = home()
    writeFileSync(join(at.cwd, 'key'), 'a key that everybody may read')
    chmodSync(join(at.cwd, 'key'), 0o644)
    const words = ['install', 'io.github.ann/weather', '--yes', '--set', 'REGION=eu', '--registry', url]
    const refused = await at.jackfield(words)
    expect(refused).toMatchObject({ code: 1, stdout: '' })
    expect(refused.stderr).toContain('Nothing was installed: weather needs secrets (WEATHER_TOKEN)')
    expect(refused.stderr).toContain('chmod 600')
    expect({ written: existsSync(at.config), started: existsSync(join(at.cwd, 'noted')) }).toEqual({
      written: false,
      started: false,
    })
    expect(await installs(at)).toEqual([])
  })

  it('is rejected with a value for an unknown variable', async () => {
    const { url } = await registry([weather])
    const at = home()
    const words = ['install', 'io.github.ann/weather', '--yes', '--set', 'COLOUR=red', '--registry', url]
    expect(await at.jackfield(words)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--set COLOUR=red is not one of: '),
    })
    expect(await installs(at)).toEqual([])
  })
})

describe('install', () => {
  it('accepts a server.json, and a command', async () => {
    const at = home('uvx')
    const file = join(at.cwd, 'server.json')
    const packages = [
      { registryType: 'pypi', identifier: 'trips', version: '2.0.1', transport: { type: 'stdio' } },
    ]
    writeFileSync(file, JSON.stringify({ name: 'io.github.ann/trips', version: '2.0.1', packages }))
    expect(await at.starting(['install', file, '--yes'])).toMatchObject({ code: 0 })
    expect(at.noted()).toBe('trips==2.0.1')
    const own = await at.jackfield(['install', '--yes', '--name', 'mine', '--', ...travel()])
    expect(own).toMatchObject({ code: 0, stdout: expect.stringContaining('It runs') })
    expect(Object.keys(at.written().mcpServers)).toEqual(['trips', 'mine'])
    expect(await installs(at)).toHaveLength(2)
  })

  it('reports where a server does not run', async () => {
    const at = home()
    const broken = await at.jackfield([
      'install',
      '--yes',
      '--name',
      'broken',
      '--',
      process.execPath,
      '-e',
      '1',
    ])
    expect(broken).toMatchObject({ code: 3, stdout: expect.stringContaining('It does not run yet') })
  })

  it('unpacks a bundle, passes its values, and removes all of it on uninstall', async () => {
    const at = home()
    const file = join(at.cwd, 'packed.mcpb')
    writeFileSync(file, bundle())
    const missing = await at.jackfield(['install', file, '--yes'])
    expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining('"folders" is needed') })
    expect(await installs(at)).toEqual([])
    await at.jackfield(['secret', 'set', 'packed.token'], 'very-secret-token')
    const installed = await at.jackfield([
      ...['install', file, '--yes', '--set', 'folders=/one', 'folders=/two words', 'depth=7'],
    ])
    expect(installed).toMatchObject({ code: 0, stdout: expect.stringContaining('has 1 tool:') })
    const folder = join(at.cwd, 'data', 'jackfield', 'bundles', 'packed', '1.2.3')
    expect(at.written().mcpServers.packed).toMatchObject({
      args: [join(folder, 'server/index.js'), '--depth=7', '/one', '/two words'],
      env: { TOKEN: `\${secret:packed.token}` },
    })
    const tools = await at.jackfield(['tools', 'packed', '--json'])
    expect(tools.stdout).toContain('/two words')
    expect(tools.stdout).toContain('\\"token\\":17')
    await at.jackfield(['uninstall', 'packed'])
    expect(existsSync(folder)).toBe(false)
  })

  it('rejects a bundle with another checksum than published, or without one', async () => {
    const at = home()
    const bytes = bundle()
    const { url } = await served(bytes)
    const file = join(at.cwd, 'server.json')
    const install = (more: object, ...words: string[]) => {
      const packages = [{ registryType: 'mcpb', identifier: `${url}/packed.mcpb`, ...more }]
      writeFileSync(file, JSON.stringify({ name: 'io.github.ann/packed', version: '1.2.3', packages }))
      return at.jackfield(['install', file, '--yes', '--no-start', ...words])
    }
    const fileSha256 = createHash('sha256').update(bytes).digest('hex')
    const other = createHash('sha256').update('other').digest('hex')
    const refused = await install({ fileSha256: other })
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining(`the registry gives ${other}`) })
    expect(await install({})).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('the hash of its bundle is missing'),
    })
    expect(await at.jackfield(['install', `${url}/packed.mcpb`, '--yes', '--no-start'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('a bundle without a known checksum'),
    })
    expect({
      written: existsSync(at.config),
      unpacked: existsSync(join(at.cwd, 'data', 'jackfield', 'bundles')),
    }).toEqual({
      written: false,
      unpacked: false,
    })
    await at.jackfield(['secret', 'set', 'packed.token'], 'very-secret-token')
    const installed = await install({ fileSha256 }, '--set', 'folders=/one')
    expect(installed).toMatchObject({ code: 0, stderr: expect.stringContaining('by io.github.ann') })
    expect(installed.stderr).not.toContain('by Ann')
  })

  it('removes nothing outside its folder, whatever path it claims', async () => {
    const at = home()
    const bundleFolder = join(at.cwd, 'kept')
    const bundles = join(at.cwd, 'data', 'jackfield', 'bundles')
    const cwd = `${bundles}/../../../kept`
    for (const folder of [bundleFolder, bundles, dirname(at.config)]) mkdirSync(folder, { recursive: true })
    writeFileSync(at.config, JSON.stringify({ mcpServers: { odd: { command: 'odd', cwd } } }))
    expect(await at.jackfield(['uninstall', 'odd'])).toMatchObject({ code: 0 })
    expect(existsSync(bundleFolder)).toBe(true)
  })
})
