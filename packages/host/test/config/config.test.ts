// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders are what is tested.
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { loadConfig, parseConfig } from '../../src/config/config.ts'
import { replaceFile } from '../../src/config/edit.ts'
import { ConfigError } from '../../src/config/reader.ts'

const read = (value: unknown, env: Record<string, string> = {}) => parseConfig(JSON.stringify(value), { env })
/** The servers without where they were read. */
const bare = ({ servers }: ReturnType<typeof parseConfig>) =>
  Object.fromEntries(Object.entries(servers).map(([name, { from: _from, ...config }]) => [name, config]))
const errorsOf = (config: ReturnType<typeof parseConfig>) =>
  config.problems.filter((problem) => problem.severity === 'error')

describe('servers', () => {
  it('parses both kinds of server in the common form', () => {
    const config = read({
      mcpServers: {
        filesystem: { command: 'npx', args: ['-y', '@modelcontextprotocol/server-filesystem', '/tmp'] },
        github: { type: 'http', url: 'https://api.example/mcp/', headers: { Authorization: 'Bearer x' } },
        off: { command: 'node', args: ['a.js'], env: { A: '1' }, cwd: '/srv', disabled: true },
        old: { type: 'sse', url: 'http://127.0.0.1:3001/sse' },
      },
    })
    expect(config.problems).toEqual([])
    expect(bare(config)).toEqual({
      filesystem: { command: 'npx', args: ['-y', '@modelcontextprotocol/server-filesystem', '/tmp'] },
      github: { url: 'https://api.example/mcp/', headers: { Authorization: 'Bearer x' } },
      off: { command: 'node', args: ['a.js'], env: { A: '1' }, cwd: '/srv', disabled: true },
      old: { url: 'http://127.0.0.1:3001/sse' },
    })
  })

  it.each([
    ['a list', [], 'mcpServers.bad', 'must be an object'],
    ['null', null, 'mcpServers.bad', 'must be an object'],
    ['neither command nor url', {}, 'mcpServers.bad', 'needs "command"'],
    ['both', { command: 'a', url: 'http://b' }, 'mcpServers.bad', 'both'],
    ['an empty command', { command: '  ' }, 'mcpServers.bad.command', 'is empty'],
    ['a command that is a list', { command: ['node', 'x'] }, 'mcpServers.bad.command', 'must be text'],
    ['args as one text', { command: 'a', args: '-x' }, 'mcpServers.bad.args', 'must be a list'],
    ['a number among args', { command: 'a', args: ['-p', 80] }, 'mcpServers.bad.args[1]', 'write "80"'],
    ['null among args', { command: 'a', args: [null] }, 'mcpServers.bad.args[0]', 'must be text, not null'],
    ['a number in env', { command: 'a', env: { PORT: 80 } }, 'mcpServers.bad.env.PORT', 'write "80"'],
    ['env as a list', { command: 'a', env: ['A=1'] }, 'mcpServers.bad.env', 'must be an object'],
    [
      'an impossible variable',
      { command: 'a', env: { 'A=B': '1' } },
      'mcpServers.bad.env["A=B"]',
      'not a valid variable name',
    ],
    ['a NUL', { command: 'a', args: ['x\0y'] }, 'mcpServers.bad.args[0]', 'NUL'],
    ['a url of another kind', { url: 'ftp://x' }, 'mcpServers.bad.url', 'http or https'],
    [
      'a password in its url',
      { url: 'http://a:b@x/' },
      'mcpServers.bad.url',
      'must not contain a user name or password',
    ],
    ['no url at all', { url: 'localhost' }, 'mcpServers.bad.url', 'http or https'],
    [
      'a header with a line break',
      { url: 'http://x', headers: { A: 'b\nc: d' } },
      'mcpServers.bad.headers.A',
      'header',
    ],
    [
      'a type that does not fit',
      { type: 'http', command: 'a' },
      'mcpServers.bad.type',
      'but the entry has "command"',
    ],
    ['an unknown type', { type: 'websocket', url: 'http://x' }, 'mcpServers.bad.type', 'must be stdio'],
    ['disabled as text', { command: 'a', disabled: 'yes' }, 'mcpServers.bad.disabled', 'true or false'],
  ])('leaves out only the entry with %s, with reason and position', (_name, bad, path, message) => {
    const config = read({ mcpServers: { first: { command: 'a' }, bad, last: { url: 'http://b/' } } })
    expect(Object.keys(config.servers)).toEqual(['first', 'last'])
    const problem = errorsOf(config).find((found) => found.path === path)
    expect(problem?.message).toContain(message)
    expect(problem?.file).toBe('config')
  })

  it('warns of fields without effect', () => {
    const config = read({ mcpServers: { a: { command: 'x', autoApprove: ['*'] } } })
    expect(bare(config)).toEqual({ a: { command: 'x' } })
    expect(config.problems).toEqual([
      {
        file: 'config',
        path: 'mcpServers.a.autoApprove',
        severity: 'warning',
        line: 1,
        message: 'is not used: calls are asked about here, or allowed by your rules',
      },
    ])
  })

  it('accepts servers named like object properties', () => {
    const config = parseConfig('{"mcpServers":{"__proto__":{"command":"a"},"constructor":{"command":"b"}}}')
    expect(Object.entries(bare(config))).toEqual([
      ['__proto__', { command: 'a' }],
      ['constructor', { command: 'b' }],
    ])
  })

  it('reports a file without servers in any known form', () => {
    expect(errorsOf(read({ server: {} }))[0]?.message).toContain('is missing, so there are no servers')
  })
})

describe('variables', () => {
  it('of servers are not expanded, since their values are needed only at the start', () => {
    const config = read(
      { mcpServers: { s: { command: '${A}', env: { K: '${A}', F: '${B:-b}' } } } },
      { A: 'secret value' },
    )
    expect(bare(config)).toEqual({ s: { command: '${A}', env: { K: '${A}', F: '${B:-b}' } } })
    expect(config.problems).toEqual([])
  })

  it('that are not set cause a warning with server, field and name', () => {
    const config = read({
      mcpServers: { 'git hub': { command: 'a', env: { TOKEN: '${GH_TOKEN}' } }, ok: { command: 'b' } },
    })
    expect(Object.keys(config.servers)).toEqual(['git hub', 'ok'])
    expect(config.problems).toMatchObject([
      { path: 'mcpServers["git hub"].env.TOKEN', severity: 'warning', line: 1 },
    ])
    expect(config.problems[0]?.message).toContain('GH_TOKEN is not set')
  })

  it('of other programs are not passed on as values', () => {
    const config = read({ mcpServers: { s: { command: '${command:pick}' }, ok: { command: 'a' } } })
    expect(Object.keys(config.servers)).toEqual(['ok'])
    expect(errorsOf(config)[0]?.message).toContain('${command:pick} is not supported')
  })

  it('of a disabled server are ignored', () => {
    const config = read({ mcpServers: { s: { command: '${NOPE}', disabled: true } } })
    expect(config.problems).toEqual([])
    expect(bare(config)).toEqual({ s: { command: '${NOPE}', disabled: true } })
  })

  it('in the jackfield section are expanded at once', () => {
    const config = read({ mcpServers: {}, jackfield: { models: ['${P:-openai}/${M}'] } }, { M: 'm' })
    expect(config.models).toEqual(['openai/m'])
  })
})

describe('the jackfield section', () => {
  it('parses rules, roots, models, the default verdict and limits', () => {
    const config = parseConfig(
      JSON.stringify({
        mcpServers: {},
        jackfield: {
          rules: [
            { id: 'look', verdict: 'allow', server: 'fs', tool: 'read_*' },
            { verdict: 'ask', hint: 'destructive', scope: 'conversation' },
          ],
          roots: ['src', '/srv/data', 'file:///opt', { uri: 'file:///home/x', name: 'x' }],
          models: ['anthropic/claude', 'offline'],
          defaultVerdict: 'deny',
          limits: { connectTimeoutMs: 20_000 },
        },
      }),
      { file: '/etc/jack/mcp.json' },
    )
    expect(config.problems).toEqual([])
    expect(config.rules).toMatchObject([
      { id: 'look', verdict: 'allow', server: 'fs', tool: 'read_*' },
      { id: 'jackfield.rules[1]', verdict: 'ask', hint: 'destructive', scope: 'conversation' },
    ])
    expect(config.roots).toEqual([
      { uri: 'file:///etc/jack/src' },
      { uri: 'file:///srv/data' },
      { uri: 'file:///opt' },
      { uri: 'file:///home/x', name: 'x' },
    ])
    expect(config.models).toEqual(['anthropic/claude', 'offline'])
    expect(config.defaultVerdict).toBe('deny')
    expect(config.limits).toEqual({ connectTimeoutMs: 20_000 })
  })

  it.each([
    ['a misspelt verdict', { rules: [{ verdict: 'denny', tool: 'rm' }] }, 'jackfield.rules[0].verdict'],
    ['a rule without a verdict', { rules: [{ tool: 'rm' }] }, 'jackfield.rules[0].verdict'],
    ['a misspelt field of a rule', { rules: [{ verdict: 'allow', tols: 'x' }] }, 'jackfield.rules[0].tols'],
    ['an unset variable in a rule', { rules: [{ verdict: 'deny', tool: '${X}' }] }, 'X is not set'],
    [
      'a scope where nothing is remembered',
      { rules: [{ verdict: 'allow', scope: 'always' }] },
      'rules[0].scope',
    ],
    ['null for a rule', { rules: [null] }, 'jackfield.rules[0]'],
    ['rules that are no list', { rules: {} }, 'jackfield.rules'],
    ['a misspelt member', { rulez: [] }, 'jackfield.rulez'],
    ['a wrong default', { defaultVerdict: 'yes' }, 'jackfield.defaultVerdict'],
    ['null for the section', null, 'jackfield must be an object'],
  ])(
    'is rejected completely for %s, because a part of a policy may allow what the whole forbids',
    (_name, jackfield, expected) => {
      expect(() => read({ mcpServers: {}, jackfield })).toThrow(ConfigError)
      expect(() => read({ mcpServers: {}, jackfield })).toThrow(expected)
    },
  )

  it.each([
    'https://example.com/x',
    'file://elsewhere/x',
    'file:///a/../b',
    'file:///a/%2e%2E/b',
    'file:///a%2fb',
  ])('rejects %s as a root', (uri) => {
    const config = read({ mcpServers: {}, jackfield: { roots: [{ uri }, '/ok'] } })
    expect(config.roots).toEqual([{ uri: 'file:///ok' }])
    expect(errorsOf(config)[0]?.path).toBe('jackfield.roots[0]')
  })
})

describe('files', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'jackfield-config-'))
  })
  afterEach(() => rm(folder, { recursive: true }))

  it('leaves no draft of a file that cannot be replaced', async () => {
    await mkdir(join(folder, 'config.json', 'inside'), { recursive: true })
    await expect(replaceFile(join(folder, 'config.json'), '{"TOKEN":"secret"}')).rejects.toThrow()
    expect(await readdir(folder)).toEqual(['config.json'])
  })

  it('reads a file, names it in problems, and never writes it', async () => {
    const file = join(folder, 'mcp.json')
    const text =
      '\uFEFF{ "mcpServers": { "a": { "command": "${JF_T}" }, "b": {} }, "jackfield": {"roots": ["."]} }\n\n'
    await writeFile(file, text)
    const config = await loadConfig(file, { env: { JF_T: 'x' } })
    expect(bare(config)).toEqual({ a: { command: '${JF_T}' } })
    expect(config.problems.map((problem) => problem.file)).toEqual([file])
    expect(config.roots).toEqual([{ uri: pathToFileURL(folder).href }])
    expect(await readFile(file, 'utf8')).toBe(text)
  })

  it('reports a missing file, or a folder', async () => {
    await expect(loadConfig(join(folder, 'none.json'))).rejects.toThrow(/none\.json: there is no such file/)
    await expect(loadConfig(folder)).rejects.toThrow(/it is a folder/)
  })

  it('does not quote secrets if the file is not JSON', async () => {
    const file = join(folder, 'mcp.json')
    await writeFile(file, '{ "mcpServers": { "a": { "env": { "K": "sk-secret" "x" } } } }')
    const error = await loadConfig(file).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(ConfigError)
    expect(String(error)).toContain('is not valid JSON (line 1 column')
    expect(String(error)).not.toContain('secret')
  })
})

it('throws only ConfigErrors, for any JSON', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 4 }), fc.anything({ withNullPrototype: true }), (text, anything) => {
      for (const document of [
        text,
        JSON.stringify({ mcpServers: { a: anything }, jackfield: anything }) ?? '',
      ]) {
        try {
          parseConfig(document, { env: {} })
        } catch (error) {
          if (!(error instanceof ConfigError)) throw error
        }
      }
    }),
    { numRuns: 500 },
  )
})
