import { McpError } from '@jackfield/sdk'
import { zipSync } from 'fflate'
import { parse as parseJsonc } from 'jsonc-parser'
import { parse as parseToml, stringify as toToml } from 'smol-toml'
import { parse as parseYaml, stringify as toYaml } from 'yaml'
import { parseConfig } from '../../../packages/host/src/config/config.ts'
import { ConfigError } from '../../../packages/host/src/config/reader.ts'
import { parseFilter, TraceFilterError } from '../../../packages/host/src/log/trace/filter.ts'
import { sqlOf } from '../../../packages/host/src/log/trace/filter-sql.ts'
import { parseRecording, recordingChanges } from '../../../packages/host/src/log/trace/recording.ts'
import { valuesAt } from '../../../packages/host/src/models/results.ts'
import { unpackArchive } from '../../../packages/host/src/servers/install/archive.ts'
import { readBundle } from '../../../packages/host/src/servers/install/bundle.ts'
import { planFrom } from '../../../packages/host/src/servers/install/plan.ts'
import { bundleIn, createRegistry } from '../../../packages/host/src/servers/install/registry.ts'
import { isRecord } from '../../../packages/host/src/shared/json.ts'
import { matchesGlob } from '../../../packages/host/src/shared/text.ts'
import { mustHold, type Target } from './fuzz-target.ts'
import { inZip } from './fuzz-zip.ts'
import { type Form, inJson } from './mutate.ts'

const options = { env: {}, home: '/home/somebody', workspace: '/home/somebody/work' }

/** What the host reads: configuration in three languages, filters, documents of registries, bundles, recordings, paths. */
export function hostTargets(): Target[] {
  const config = (file: string, share: number, seeds: [string, ...string[]], form: Form): Target => ({
    name: `configuration in ${file.slice(file.indexOf('.') + 1)}`,
    share,
    seeds,
    form,
    run: (input) => void parseConfig(input.toString('utf8'), { ...options, file: `/home/somebody/${file}` }),
    allows: isHosts,
  })
  return [
    config('jackfield.json', 2, json, inJsonc),
    config('jackfield.toml', 2, toml, inToml),
    config('jackfield.yaml', 1, yaml, inYaml),
    { name: 'filters', share: 3, seeds: filters, run: filter, allows: isHosts },
    { name: 'registry documents', share: 2, seeds: registered, run: registry, allows: isHosts },
    {
      name: 'manifests',
      share: 4,
      seeds: manifests,
      run: manifest,
      allows: isHosts,
    },
    {
      name: 'bundles',
      share: 2,
      seeds: bundles,
      form: inZip,
      run: bundle,
      allows: isHosts,
    },
    {
      name: 'recordings',
      share: 4,
      seeds: recordings,
      run: recording,
      allows: isHosts,
    },
    { name: 'paths', share: 3, seeds: paths, run: path, allows: isHosts },
    { name: 'globs', share: 2, seeds: ['*', 'a*b?c', '**/*.ts', '[a-z]{b,c}'], run: glob, allows: isHosts },
  ]
}

/** The errors of the host. */
export function isHosts(error: unknown): boolean {
  // The two copies of the SDK's class are indistinguishable by name.
  const isMcp = error instanceof McpError || (error instanceof Error && error.name === 'McpError')
  return isMcp || error instanceof ConfigError || error instanceof TraceFilterError
}

const inJsonc: Form = { ...inJson, read: (text) => parseJsonc(text, [], { allowTrailingComma: true }) }
const inToml: Form = { read: (text) => parseToml(text), write: (value) => toToml(value) }
const inYaml: Form = { read: (text) => parseYaml(text), write: (value) => toYaml(value) }
const json: [string, ...string[]] = [
  `{\n  // one\n  "mcpServers": {"files": {"command": "npx", "args": ["-y", "x@1.2.3"], "env": {"A": "\${env:B}"}},},\n}`,
  `{"servers": {"web": {"type": "http", "url": "https://a.example/mcp", "headers": {"X": "\${input:key}"}}}, "inputs": [{"id": "key", "type": "promptString", "password": true}]}`,
  '{"mcpServers": {}, "jackfield": {"policy": [{"verdict": "ask", "tool": "*"}], "roots": ["."], "log": {"keep": "7d"}}}',
  JSON.stringify({
    mcpServers: {
      a: {
        command: 'a',
        args: ['b'],
        env: { A: 'b' },
        cwd: '/c',
        envFile: '.env',
        disabled: false,
        timeout: 9,
        alwaysAllow: ['x'],
        tools: { only: ['y'], without: ['z'], always: ['y'] },
      },
      b: {
        httpUrl: 'https://a.example/',
        headers: { X: 'y' },
        auth: { clientId: 'i', scopes: ['s'] },
        oauth: { scope: 'a b' },
      },
    },
    mcp: { servers: { c: { type: 'sse', url: 'https://a.example/sse' } } },
  }),
]
const toml: [string, ...string[]] = [
  '[mcp_servers.files]\ncommand = "npx"\nargs = ["-y", "x@1.2.3"]\n[mcp_servers.files.env]\nA = "b"\n',
  'a = """x\ny"""\nb = 1979-05-27T07:32:00Z\nc = [1, 2.5, inf]\n[[d]]\ne = {f = true}\n',
]
const yaml: [string, ...string[]] = [
  'mcpServers:\n  files:\n    command: npx\n    args: [-y, "x@1.2.3"]\n    env: {A: b}\n',
  'a: &x [1, 2]\nb: *x\nc: |\n  text\nd: !!str 1\n? e\n: f\n',
]
const filters: [string, ...string[]] = [
  'server:files dur:>500 -kind:wire "not found"',
  'since:1h tool:read* error:true method:tools/call',
  '-"a b" since:2026-01-02 text',
]

function filter(input: Buffer): void {
  const { text, values } = sqlOf(parseFilter(input.toString('utf8'), 1_000_000))
  // User input is a value of the query and never part of it.
  mustHold(!/['";]|--/.test(text.replaceAll(/'[a-z_$.%\\]*'/g, '')), `a filter became SQL: ${text}`)
  mustHold((text.match(/\?/g) ?? []).length === values.length, 'a value has no place in the query')
}

const registered: [string, ...string[]] = [
  JSON.stringify({
    name: 'io.example/files',
    version: '1.2.3',
    packages: [
      {
        registryType: 'npm',
        identifier: '@example/files',
        version: '1.2.3',
        transport: { type: 'stdio' },
        environmentVariables: [{ name: 'KEY', isSecret: true, isRequired: true }],
        packageArguments: [{ type: 'positional', value: '.' }],
      },
    ],
  }),
  JSON.stringify({
    name: 'io.example/web',
    version: '1.0.0',
    remotes: [
      { type: 'streamable-http', url: 'https://a.example/mcp', headers: [{ name: 'X', value: '{key}' }] },
    ],
  }),
  JSON.stringify({
    name: 'io.example/packed',
    version: '1.0.0',
    packages: [{ registryType: 'mcpb', identifier: 'https://a.example/x.mcpb', fileSha256: 'a'.repeat(64) }],
  }),
  JSON.stringify({
    name: 'io.example/odd',
    version: '1.0.0',
    mcpServers: { a: { command: 'b', envFile: '.env', cwd: '/c', roots: ['/'], sandbox: false } },
    remotes: [{ type: 'sse', url: 'https://a.example/sse' }],
  }),
]

/** The answer of a registry, and what would be installed of it. */
async function registry(input: Buffer): Promise<void> {
  const answer = new Uint8Array(input)
  const { servers } = await createRegistry({ fetch: async () => new Response(answer) }).search('')
  const value = parsed(input)
  for (const document of [...servers.map((one) => one.document), value]) {
    if (!isRecord(document)) continue
    bundleIn(document)
    const plan = planFrom(document)
    const config = plan.config(Object.fromEntries(plan.needs.map(({ id }) => [id, ['given']])))
    const shown = ['command', 'args', 'env', 'type', 'url', 'headers']
    mustHold(
      Object.keys(config).every((key) => shown.includes(key)),
      `more would be installed than is shown: ${Object.keys(config).join()}`,
    )
  }
}

function parsed(input: Buffer): unknown {
  try {
    return JSON.parse(input.toString('utf8'))
  } catch {
    return undefined
  }
}

/** What a bundle with the manifest would be installed as. */
function manifest(input: Buffer): void {
  const bytes = zipSync({ 'manifest.json': new Uint8Array(input) }, { level: 0, mtime: '2026-01-02' })
  const { plan } = readBundle(bytes, { folder: '/bundles', home: '/home/somebody', platform: 'linux' })
  plan.config(Object.fromEntries(plan.needs.map(({ id }) => [id, ['given']])))
}

const manifests: [string, ...string[]] = [
  JSON.stringify({
    manifest_version: '0.3',
    name: 'files',
    version: '1.0.0',
    description: 'Files',
    author: { name: 'A' },
    server: {
      type: 'node',
      entry_point: 'server/index.js',
      mcp_config: {
        command: 'node',
        args: [`\${__dirname}/server/index.js`],
        env: { A: `\${user_config.key}` },
      },
    },
    user_config: { key: { type: 'string', title: 'Key', sensitive: true, required: true } },
    compatibility: { platforms: ['linux'] },
  }),
  JSON.stringify({
    dxt_version: '0.1',
    name: 'files',
    version: '1.0.0',
    author: 'A',
    server: {
      type: 'python',
      entry_point: 'main.py',
      mcp_config: { command: 'python3', platform_overrides: { linux: { command: 'p', env: { B: 'c' } } } },
    },
    user_config: {
      n: { type: 'number', min: 1, max: 9, default: 2, description: 'd' },
      d: { type: 'directory', multiple: true, default: ['a'] },
    },
  }),
]

const packed = zipSync(
  {
    'manifest.json': [Buffer.from(manifests[0]), { os: 3, attrs: 0o100644 << 16 }],
    'server/index.js': [Buffer.from('// '.repeat(50)), { os: 3, attrs: 0o100755 << 16, level: 0 }],
    'server/': new Uint8Array(),
  },
  { mtime: '2026-01-02' },
)

/** Bytes, as a text with one character for each. */
const bundles: [string, ...string[]] = [Buffer.from(packed).toString('latin1'), 'PK\u0005\u0006', 'x']

function bundle(input: Buffer): void {
  const bytes = Buffer.from(input.toString('utf8'), 'latin1')
  const files = unpackArchive(bytes)
  mustHold(
    files.every(({ path: at }) => !at.startsWith('/') && !at.split('/').includes('..')),
    'a file leads out',
  )
  mustHold(
    files.every((file) => file.bytes.length <= Math.max(1_000_000, 200 * bytes.length)),
    'a file is far larger than what it is packed in',
  )
}

/** A recording is no other than itself. */
function recording(input: Buffer): void {
  const read = parseRecording(input.toString())
  mustHold(recordingChanges(read, read).length === 0, 'a recording differs from itself')
}

const recordings: [string, ...string[]] = [
  JSON.stringify({
    format: 'jackfield-recording',
    version: 1,
    at: '2026-01-01T00:00:00Z',
    servers: {
      files: {
        revision: '2025-11-25',
        exchanges: [
          {
            method: 'tools/call',
            params: { name: 'read', arguments: { path: 'a' } },
            before: [
              { message: { method: 'notifications/progress', params: { progressToken: 1, progress: 1 } } },
              { message: { method: 'roots/list' }, answer: { result: { roots: [] } } },
            ],
            answer: { result: { content: [] } },
          },
        ],
      },
    },
  }),
]
const paths: [string, ...string[]] = [
  '/a/b/0',
  '.a.b[0]',
  '.a[] | keys',
  '.a["b c"][1:3] | length',
  '.',
  '~0~1',
]
const value = { a: { b: [1, 2, { c: 'x' }], 'b c': [[1], [2]] }, toString: 1, '': { '': 2 } }

function path(input: Buffer): void {
  const found = valuesAt(value, input.toString('utf8'))
  mustHold(
    found.every((one) => typeof one !== 'function'),
    'a path leads out of the document',
  )
}

function glob(input: Buffer): void {
  const text = input.toString('utf8').slice(0, 200)
  matchesGlob(text, `${text}x`)
  mustHold(matchesGlob('*', 'anything'), 'a star does not match')
}
