import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { zipSync } from 'fflate'
import { describe, expect, it } from 'vitest'
import { readBundle } from '../../src/servers/install/bundle.ts'
import { folder } from '../fixtures/hosts.ts'
import { bundle, manifest } from './zips.ts'

const home = '/home/ann'

describe('a bundle', () => {
  it('shows its command and its inputs before anything is unpacked', () => {
    const at = folder()
    const { plan, folder: own } = readBundle(bundle(), { folder: at, home })
    expect(own).toBe(join(at, 'packed', '1.2.3'))
    expect(plan).toMatchObject({
      name: 'packed',
      version: '1.2.3',
      publisher: 'Ann',
      given: [{ name: 'TOKEN', value: '[TOKEN]' }],
    })
    expect(plan.command).toContain(`node ${own}/server/index.js`)
    expect(plan.needs).toMatchObject([
      { id: 'token', required: true, secret: 'packed.token', description: 'Token' },
      { id: 'folders', required: true, multiple: true, kind: 'directory' },
      { id: 'depth', required: false, default: '3', kind: 'number' },
    ])
    expect(readdirSync(at)).toEqual([])
  })

  it('is started with the values: secrets by name, lists as several arguments, defaults', () => {
    const at = folder()
    const { plan } = readBundle(bundle(), { folder: at, home })
    expect(plan.config({ folders: ['/a', '/b c'] })).toEqual({
      command: 'node',
      args: [join(at, 'packed/1.2.3/server/index.js'), '--depth=3', '/a', '/b c'],
      env: { TOKEN: `\${secret:packed.token}` },
      cwd: join(at, 'packed/1.2.3'),
    })
  })

  it.each([
    [{}, 'folders" is needed'],
    [{ folders: ['/a'], depth: ['10'] }, 'at most 9'],
    [{ folders: ['/a'], depth: ['deep'] }, 'must be a number'],
    [{ folders: ['/a'], depth: ['1', '2'] }, 'takes one value'],
    [{ folders: [`\${HOME}`] }, 'reads like a variable'],
  ])('rejects invalid values: %j', (values, why) => {
    const { plan } = readBundle(bundle(), { folder: folder(), home })
    expect(() => plan.config(values)).toThrow(why)
  })

  it.each(['0.1', '0.2', '0.3'])('is read in manifest version %s', (version) => {
    const { manifest_version: _other, ...rest } = manifest
    const written =
      version === '0.1' ? { ...rest, dxt_version: version } : { ...rest, manifest_version: version }
    expect(readBundle(bundle(written), { folder: folder(), home }).plan.name).toBe('packed')
  })

  it("applies its settings for the platform, and the user's folders", () => {
    const written = {
      ...manifest,
      user_config: {},
      server: {
        type: 'binary',
        entry_point: 'server/run',
        mcp_config: {
          command: `\${__dirname}/server/run`,
          args: [`\${HOME}`, `\${DOWNLOADS}`],
          env: { A: '1' },
          platform_overrides: { win32: { command: `\${__dirname}/server/run.exe`, env: { B: '2' } } },
        },
      },
    }
    const at = folder()
    const own = join(at, 'packed/1.2.3')
    const config = (platform: NodeJS.Platform) =>
      readBundle(bundle(written), { folder: at, home, platform }).plan.config({})
    expect(config('linux')).toMatchObject({
      command: `${own}/server/run`,
      args: [home, `${home}/Downloads`],
      env: { A: '1' },
    })
    expect(config('win32')).toMatchObject({ command: `${own}/server/run.exe`, env: { A: '1', B: '2' } })
  })

  it.each([
    ['node', 'node'],
    ['python', 'python3'],
    ['uv', 'uv'],
  ])('of the type %s has a default command', (type, command) => {
    const written = { ...manifest, user_config: {}, server: { type, entry_point: 'server/index.js' } }
    const { plan } = readBundle(bundle(written), { folder: folder(), home })
    expect(plan.config({})).toMatchObject({ command })
  })

  it('is unpacked completely, readable by its owner only, replacing the previous version', async () => {
    const at = folder()
    const first = readBundle(bundle(manifest, { 'old.txt': Buffer.from('old') }), { folder: at, home })
    await first.unpack()
    const script: [Uint8Array, { os: number; attrs: number }] = [
      Buffer.from('#!/bin/sh\n'),
      { os: 3, attrs: 0o100755 << 16 },
    ]
    await readBundle(bundle(manifest, { 'bin/run': script }), { folder: at, home }).unpack()
    expect(existsSync(join(first.folder, 'old.txt'))).toBe(false)
    expect(readFileSync(join(first.folder, 'manifest.json'), 'utf8')).toContain('packed')
    expect(statSync(first.folder).mode & 0o077).toBe(0)
    expect(statSync(join(first.folder, 'bin/run')).mode & 0o777).toBe(0o700)
    expect(readdirSync(join(at, 'packed'))).toEqual(['1.2.3'])
  })
})

describe('an unsafe bundle', () => {
  const read = (bytes: Uint8Array) => () => readBundle(bytes, { folder: folder(), home })

  it.each([
    '../out.js',
    '/etc/passwd',
    'a/../../b',
    'a\\..\\b',
    'C:evil',
    'a//b',
    './a',
    'nul\u0000l',
    'a.',
    'CON',
    'a/nul.txt',
    'b/Com1 .js',
  ])('is rejected with %j', (path) => {
    expect(read(bundle(manifest, { [path]: Buffer.from('x') }))).toThrow('not a plain path')
  })

  it('is rejected with links', () => {
    const link: [Uint8Array, { os: number; attrs: number }] = [
      Buffer.from('/etc/passwd'),
      { os: 3, attrs: 0o120777 << 16 },
    ]
    expect(read(bundle(manifest, { link }))).toThrow('a link')
  })

  it('is rejected with duplicate names, ignoring case, and files inside files', () => {
    expect(read(bundle(manifest, { 'Server/Index.js': Buffer.from('x') }))).toThrow('twice')
    expect(read(bundle(manifest, { 'server/index.js/more': Buffer.from('x') }))).toThrow('inside of a file')
  })

  it('is rejected if it unpacks to far more than its size', () => {
    expect(read(bundle(manifest, { zeros: new Uint8Array(20_000_000) }))).toThrow('compression ratio')
  })

  it('is unpacked only as listed in the checked directory', () => {
    const bytes = Buffer.from(bundle())
    const end = bytes.length - 22
    const directory = bytes.readUInt32LE(end + 16)
    const first = bytes.subarray(directory, directory + 46 + bytes.readUInt16LE(directory + 28))
    const changed = (before: Buffer, change: (last: Buffer) => void): Buffer => {
      const last = Buffer.from(bytes.subarray(end))
      change(last)
      return Buffer.concat([before, last])
    }
    const again = Buffer.concat([bytes.subarray(0, end), ...Array.from({ length: 100 }, () => first)])
    expect(read(changed(again, (last) => last.writeUInt16LE(102, 8)))).toThrow('two lengths')
    const record = Buffer.alloc(76)
    record.writeUInt32LE(0x06064b50, 0)
    record.writeUInt32LE(0xffffffff, 32)
    record.writeUInt32LE(directory, 48)
    record.writeUInt32LE(0x07064b50, 56)
    record.writeUInt32LE(end, 64)
    expect(read(changed(Buffer.concat([bytes.subarray(0, end), record]), () => {}))).toThrow('zip64')
  })

  it('is rejected with overlapping files', () => {
    const bytes = Buffer.from(bundle(manifest, { a: Buffer.alloc(900_000) }))
    const end = bytes.length - 22
    const entry = bytes.subarray(bytes.lastIndexOf('PK\u0001\u0002'), end)
    const same = Array.from('bcdefghijklmnop', (name) =>
      Buffer.concat([entry.subarray(0, 46), Buffer.from(name), entry.subarray(47)]),
    )
    const last = Buffer.from(bytes.subarray(end))
    last.writeUInt16LE(3 + same.length, 8)
    last.writeUInt16LE(3 + same.length, 10)
    const packed = Buffer.concat([bytes.subarray(0, end), ...same, last])
    expect(read(packed)).toThrow('exists twice')
  })

  it.each([
    ['stored', 0],
    ['compressed', 6],
  ] as const)('is rejected if a checksum differs: %s', (_, level) => {
    const bytes = Buffer.from(zipSync({ 'manifest.json': Buffer.from(JSON.stringify(manifest)) }, { level }))
    expect(read(bytes)).not.toThrow()
    const entry = bytes.lastIndexOf('PK\u0001\u0002')
    bytes.writeUInt32LE(bytes.readUInt32LE(entry + 16) ^ 1, entry + 16)
    expect(read(bytes)).toThrow('"manifest.json" does not match its checksum')
  })

  it('is rejected if a file was changed after packing', () => {
    const bytes = Buffer.from(
      zipSync(
        { 'manifest.json': Buffer.from(JSON.stringify(manifest)), 'server/index.js': Buffer.from('good()') },
        { level: 0 },
      ),
    )
    bytes.write('evil()', bytes.indexOf('good()'))
    expect(read(bytes)).toThrow('"server/index.js" does not match its checksum')
  })

  it('warns that its signature is not verified', () => {
    const end = Buffer.from('MCPB_SIG_V1....MCPB_SIG_END')
    const codes = (bytes: Uint8Array): string[] => read(bytes)().plan.findings.map(({ code }) => code)
    expect(codes(bundle())).not.toContain('unchecked-signature')
    expect(codes(Buffer.concat([bundle(), end]))).toContain('unchecked-signature')
  })

  it('is rejected if it is incomplete', () => {
    const bytes = bundle()
    expect(read(bytes.slice(0, 300))).toThrow('not a bundle')
    expect(read(Buffer.from('PK no'))).toThrow('not a bundle')
    const broken = Uint8Array.from(bytes)
    broken.fill(0xff, 60, 120)
    expect(read(broken)).toThrow()
    expect(read(zipSync({ other: Buffer.from('x') }))).toThrow('no manifest.json')
  })

  it.each([
    [{ manifest_version: '9.0' }, 'manifest version 9.0'],
    [{ name: '../up' }, 'cannot be the name of a folder'],
    [{ version: '..' }, 'cannot be the name of a folder'],
    [{ name: 'aux' }, 'cannot be the name of a folder'],
    [{ version: '1.' }, 'cannot be the name of a folder'],
    [{ compatibility: { platforms: ['other'] } }, 'is made for other'],
    [{ server: { type: 'strange', entry_point: 'x' } }, 'of the type strange'],
    [{ user_config: { x: { type: 'strange' } } }, 'unknown type strange'],
    [{ user_config: { x: { type: 'toString' } } }, 'unknown type toString'],
  ])('is rejected with an invalid manifest: %j', (change, why) => {
    expect(read(bundle({ ...manifest, ...change }))).toThrow(why)
  })

  it('reads no variables and files of this machine', () => {
    for (const arg of [`\${env:AWS_SECRET}`, `\${file:/etc/passwd}`, `\${secret:other}`, `\${PATH}`]) {
      const server = { ...manifest.server, mcp_config: { command: 'node', args: [arg] } }
      expect(read(bundle({ ...manifest, server }))).toThrow('a variable that bundles do not have')
    }
  })
})
