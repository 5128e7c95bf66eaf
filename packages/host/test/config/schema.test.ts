// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables are written so in configurations.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { compileSchema } from '@jackfield/sdk/schema'
import { describe, expect, it } from 'vitest'
import { parseConfig } from '../../src/config/config.ts'
import { ConfigError } from '../../src/config/reader.ts'
import { isRecord } from '../../src/shared/json.ts'

const schema: unknown = JSON.parse(
  readFileSync(fileURLToPath(new URL('../../schema/config.schema.json', import.meta.url)), 'utf8'),
)
const validator = compileSchema(schema, { trusted: true })

/** One of everything that can be written. */
const whole = {
  mcpServers: {
    files: {
      type: 'stdio',
      description: 'Files',
      command: 'npx',
      args: ['-y', 'server', '${workspaceFolder}'],
      env: { TOKEN: '${input:token}' },
      envFile: '.env',
      cwd: '/srv',
      sandbox: {
        read: ['/a'],
        write: ['/b'],
        network: ['*.example.org'],
        maxProcesses: 100,
        maxTemporaryBytes: 1_000_000,
      },
      disabled: false,
      era: 'auto',
      lazy: true,
      connectTimeoutMs: 5000,
      callTimeoutMs: 60000,
      sleepAfterMs: 60000,
      roots: ['/srv', { uri: 'file:///opt', name: 'opt' }],
      labels: ['private'],
      tools: { only: ['read_*'], without: ['read_all'], always: ['read_one'] },
    },
    more: { extends: 'files', args: ['other'] },
    api: {
      type: 'http',
      url: 'https://api.example/mcp',
      headers: { Authorization: 'Bearer ${secret:api}' },
      auth: { clientId: 'me', clientSecret: '${secret:me}', scopes: ['read'] },
      roots: false,
    },
  },
  inputs: [
    { id: 'token', type: 'promptString', description: 'Token', password: true, default: 'x', options: [] },
  ],
  jackfield: {
    rules: [
      {
        id: 'one',
        verdict: 'ask',
        server: 'files',
        tool: 'read_*',
        hint: 'readOnly',
        caller: ['chat'],
        arguments: [
          { at: '/path', inside: ['/srv'] },
          { at: '/n', min: 1, max: 2 },
          { at: '/x', equals: 1 },
        ],
        label: 'private',
        gate: 'call',
        scope: 'always',
      },
    ],
    defaultVerdict: 'ask',
    roots: ['~'],
    models: [
      'openai/x',
      {
        id: 'a/b',
        name: 'B',
        cost: { input: 1, output: 2 },
        currency: 'EUR',
        speed: 1,
        intelligence: 0.5,
        contextTokens: 9,
      },
    ],
    limits: { connectTimeoutMs: 5000, callTimeoutMs: 60000 },
    log: { keep: true, megabytes: 50, days: 0.5, maskedHeaders: ['X-Tenant'], traceparent: false },
    profiles: { work: { servers: ['files'], without: ['api'] } },
    servers: { api: { lazy: true, auth: false } },
    sampling: {
      limits: { requestsPerMinute: 5, costPerDay: 1 },
      servers: { files: { limits: { maxTokens: 100 }, approve: ['request'] } },
      redact: [
        { name: 'n', pattern: 'x' },
        { builtin: 'email', off: true },
      ],
    },
  },
}

/** Whether the reader finds anything to say. */
function complains(document: unknown): boolean {
  try {
    return parseConfig(JSON.stringify(document), { env: {} }).problems.length > 0
  } catch (error) {
    if (error instanceof ConfigError) return true
    throw error
  }
}

/** The path of every object in a document. */
function objects(value: unknown, path: (string | number)[] = []): (string | number)[][] {
  if (Array.isArray(value)) return value.flatMap((item, index) => objects(item, [...path, index]))
  if (!isRecord(value)) return []
  return [path, ...Object.entries(value).flatMap(([key, item]) => objects(item, [...path, key]))]
}

/** The document with one more member at a place. */
function withMember(path: readonly (string | number)[]): unknown {
  const copy: unknown = structuredClone(whole)
  let place: unknown = copy
  for (const step of path)
    place = isRecord(place) || Array.isArray(place) ? Reflect.get(place, step) : undefined
  if (isRecord(place)) place['notKnown'] = 'x'
  return copy
}

/** Where names are the person's own. */
const open = [
  /^$/,
  /^mcpServers$/,
  /(^|\.)(env|headers|profiles|servers)$/,
  /^inputs\.\d+$/,
  /^mcpServers\.more$/,
]

describe('the schema for editors', () => {
  it('accepts everything that the parser accepts', () => {
    expect(validator.check(whole)).toBeUndefined()
    expect(complains(whole)).toBe(false)
  })

  it.each(
    objects(whole)
      .map((path) => path.join('.'))
      .filter((path) => !open.some((pattern) => pattern.test(path))),
  )('rejects an unknown member at %s, and so does the parser', (path) => {
    const document = withMember(path.split('.').map((step) => (/^\d+$/.test(step) ? Number(step) : step)))
    expect(validator.check(document)).toBeDefined()
    expect(complains(document)).toBe(true)
  })

  it.each([
    { mcpServers: { a: {} } },
    { mcpServers: { a: { command: 1 } } },
    { mcpServers: { a: { command: 'x', args: 'y' } } },
    { mcpServers: { a: { command: 'x', env: { A: 1 } } } },
    { mcpServers: { a: { command: 'x', callTimeoutMs: 0 } } },
    { mcpServers: { a: { command: 'x', era: 'new' } } },
    { mcpServers: { a: { url: 'https://x', roots: true } } },
    { mcpServers: {}, jackfield: { rules: [{ verdict: 'maybe' }] } },
    { mcpServers: {}, jackfield: { rules: [{}] } },
    { mcpServers: {}, jackfield: { profiles: { a: { servers: 'x' } } } },
    { mcpServers: {}, jackfield: { limits: { callTimeoutMs: '1' } } },
  ])('rejects %j, and so does the parser', (document) => {
    expect(validator.check(document)).toBeDefined()
    expect(complains(document)).toBe(true)
  })
})
