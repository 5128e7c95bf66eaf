// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables are written so in configurations.
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { configFiles, loadLayers } from '../../src/config/layers.ts'
import { folder } from '../fixtures/hosts.ts'

/** A working folder and a home folder with these files. */
function setup(files: Record<string, unknown>) {
  const base = folder()
  const [cwd, home] = [join(base, 'work'), join(base, 'home')]
  for (const place of [cwd, home]) mkdirSync(place)
  for (const [name, value] of Object.entries(files)) {
    const file = join(base, name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, typeof value === 'string' ? value : JSON.stringify(value, null, 2))
  }
  return { cwd, home, env: {} }
}

const own = 'home/.config/jackfield/config.json'

describe('layers', () => {
  it('merge all files; the first that defines a server is the only source for it', async () => {
    const at = setup({
      'work/.mcp.json': { mcpServers: { a: { command: 'a-project' } } },
      'work/.vscode/mcp.json': { servers: { a: { command: 'a-code' }, b: { command: 'b-code' } } },
      [own]: { mcpServers: { a: { command: 'a-own', env: { X: '1' } }, c: { command: 'c-own' } } },
      'home/.codex/config.toml': '[mcp_servers.d]\ncommand = "d-codex"\n',
    })
    const { servers, origins, files } = await loadLayers(at)
    expect(servers).toMatchObject({
      a: { command: 'a-project' },
      b: { command: 'b-code' },
      c: { command: 'c-own' },
    })
    expect(servers['a']).not.toHaveProperty('env')
    expect(servers).not.toHaveProperty('d')
    expect(origins['a']?.overridden).toEqual([
      { file: join(at.cwd, '.vscode/mcp.json'), format: 'VS Code', layer: 'project', line: 3 },
      { file: join(at.home, '.config/jackfield/config.json'), format: 'mcpServers', layer: 'user', line: 3 },
    ])
    expect(files.map(({ layer }) => layer)).toEqual(['project', 'project', 'user'])
    expect(servers['b']?.from?.workspace).toBe(at.cwd)
    const all = await loadLayers({ ...at, discover: true })
    expect(all.servers['d']).toMatchObject({ command: 'd-codex', from: { layer: 'discovered' } })
  })

  it('fail for a file of the user that cannot be checked, since it may contain rules', async () => {
    const at = setup({ 'work/.mcp.json': { mcpServers: { a: { command: 'x' } } } })
    const file = join(at.home, '.config/jackfield/config.json')
    mkdirSync(dirname(file), { recursive: true })
    symlinkSync(file, file)
    await expect(loadLayers(at)).rejects.toThrow(file)
  })

  it('use only named files, if given; the last one wins', async () => {
    const at = setup({
      'work/.mcp.json': { mcpServers: { hidden: { command: 'x' } } },
      'work/one.json': { mcpServers: { a: { command: 'one' }, b: { command: 'one' } } },
      'work/two.json': { mcpServers: { a: { command: 'two' } } },
    })
    const { servers } = await loadLayers({ ...at, files: ['one.json', 'two.json'] })
    expect(servers).toMatchObject({ a: { command: 'two', from: { layer: 'named' } }, b: { command: 'one' } })
    expect(servers).not.toHaveProperty('hidden')
    await expect(loadLayers({ ...at, files: ['none.json'] })).rejects.toThrow('there is no such file')
  })

  it('a file of the working folder can forbid and ask, but not allow', async () => {
    const at = setup({
      'work/.mcp.json': {
        mcpServers: { a: { command: 'a' } },
        jackfield: {
          rules: [
            { id: 'open', verdict: 'allow' },
            { id: 'shut', verdict: 'deny', tool: 'rm' },
          ],
          defaultVerdict: 'allow',
          servers: { mine: { labels: ['harmless'], sandbox: false } },
        },
      },
      [own]: {
        mcpServers: { mine: { command: 'm', sandbox: true } },
        jackfield: {
          rules: [{ id: 'look', verdict: 'allow', tool: 'read' }],
          servers: { a: { lazy: true } },
        },
      },
    })
    const config = await loadLayers(at)
    expect(config.rules.map(({ id }) => id)).toEqual(['shut', 'look'])
    expect(config).not.toHaveProperty('defaultVerdict')
    expect(config.problems.map(({ path, severity }) => [path, severity])).toEqual([
      ['jackfield.rules', 'warning'],
      ['jackfield.defaultVerdict', 'warning'],
    ])
    expect(config.servers['mine']).toMatchObject({ sandbox: true })
    expect(config.servers['mine']).not.toHaveProperty('labels')
    expect(config.servers['a']).toMatchObject({ lazy: true })
  })

  it('accept no script model and no secret lookup from the working folder', async () => {
    const at = setup({
      'work/jackfield.json': {
        mcpServers: { a: { command: 'a' } },
        jackfield: {
          models: [' script:evil.json', { id: 'script:other.json' }, 'anthropic/one'],
          roots: [{ uri: 'file:///work', name: '${GITHUB_TOKEN}' }, '/${LANG}'],
        },
      },
      [own]: { mcpServers: {}, jackfield: { roots: [{ uri: 'file:///own', name: '${GITHUB_TOKEN}' }] } },
    })
    const env = { GITHUB_TOKEN: 'ghp_secret', LANG: 'C' }
    const { models, sampling, roots, problems } = await loadLayers({ ...at, env })
    expect(models).toEqual(['anthropic/one'])
    expect(sampling.models).toEqual([{ id: 'anthropic/one' }])
    expect(roots).toEqual([
      { uri: 'file:///work' },
      { uri: 'file:///C' },
      { uri: 'file:///own', name: 'ghp_secret' },
    ])
    expect(problems).toMatchObject([
      { path: 'jackfield.roots[0].name', message: expect.stringContaining('GITHUB_TOKEN') },
      { path: 'jackfield.models', severity: 'warning' },
    ])
  })

  it('continue without an unreadable file, and then let no other file allow anything', async () => {
    const at = setup({
      'work/.vscode/mcp.json': '{ "servers": { "a" ',
      [own]: { mcpServers: { c: { command: 'c' } }, jackfield: { rules: [{ verdict: 'allow', tool: 'x' }] } },
    })
    const { servers, problems, rules } = await loadLayers(at)
    expect(Object.keys(servers)).toEqual(['c'])
    expect(problems).toMatchObject([
      { severity: 'error', message: expect.stringContaining('is not valid JSON') },
    ])
    expect(rules).toHaveLength(1)
    const allowing = 'mcpServers: {}\njackfield:\n  rules:\n    - verdict: allow\n      tool: x\n'
    const broken = await loadLayers(
      setup({
        [own]: '{ nonsense',
        [own.replace(/json$/, 'yaml')]: allowing,
        'work/.mcp.json': { mcpServers: { d: { command: 'd' } } },
      }),
    )
    expect(Object.keys(broken.servers)).toEqual(['d'])
    expect(broken.rules).toEqual([])
    expect(broken.broken).toEqual([expect.stringContaining(own)])
  })

  it('have profiles: servers outside are disabled, and one named in full is enabled', async () => {
    const at = setup({
      [own]: {
        mcpServers: {
          'git-work': { command: 'a' },
          'git-home': { command: 'b' },
          mail: { command: 'c', disabled: true },
        },
        jackfield: { profiles: { work: { servers: ['git-*', 'mail'], without: ['*-home'] } } },
      },
    })
    const { servers } = await loadLayers({ ...at, profile: 'work' })
    expect(Object.entries(servers).map(([name, { disabled }]) => [name, disabled === true])).toEqual([
      ['git-work', false],
      ['git-home', true],
      ['mail', false],
    ])
    await expect(loadLayers({ ...at, profile: 'play' })).rejects.toThrow('no profile "play". There are: work')
  })

  it("use the profile of the user, not one of a working folder's file with that name", async () => {
    const profiles = { work: { servers: ['git'] } }
    const at = setup({
      'work/jackfield.json': {
        mcpServers: {},
        jackfield: { profiles: { work: { servers: ['shell'] }, mine: { servers: ['git'] } } },
      },
      [own]: {
        mcpServers: { git: { command: 'a' }, shell: { command: 'b', disabled: true } },
        jackfield: { profiles },
      },
    })
    const { servers, profiles: known } = await loadLayers({ ...at, profile: 'work' })
    expect(servers).toMatchObject({ git: { disabled: false }, shell: { disabled: true } })
    expect(Object.keys(known).toSorted()).toEqual(['mine', 'work'])
  })

  it('list every file that could exist', () => {
    const names = configFiles({ cwd: '/w', home: '/h', env: { XDG_CONFIG_HOME: '/x' } }).map(
      ({ file }) => file,
    )
    expect(names.slice(0, 5)).toEqual([
      '/w/.mcp.json',
      '/w/jackfield.json',
      '/w/.vscode/mcp.json',
      '/w/.cursor/mcp.json',
      '/x/jackfield/config.json',
    ])
  })
})
