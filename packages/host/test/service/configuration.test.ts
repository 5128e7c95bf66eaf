import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { loadLayers } from '../../src/config/layers.ts'
import { memorySecrets } from '../../src/config/secrets/store.ts'
import { HostService } from '../../src/service/service.ts'
import type { ConfigChange } from '../../src/types/index.ts'

const ownText = `{
  // What I use
  "mcpServers": {
    "files": { "command": "node", "args": ["files.js"], "env": { "FILES_TOKEN": "hush-hush-token" }, "disabled": true }, // mine
    "wiki": { "url": "https://wiki.example/mcp", "disabled": true }
  },
  "jackfield": {
    "rules": [
      // Reading is fine
      { "verdict": "allow", "tool": "read_*" },
      // Nothing is deleted
      { "id": "no-deletes", "verdict": "deny", "tool": "delete_*" }
    ]
  }
}
`

/** A host of configuration files. `files`: further ones, by their path in the home folder. */
async function configured(text: string, files: Readonly<Record<string, string>> = {}, own = 'config.json') {
  const home = mkdtempSync(join(tmpdir(), 'jackfield-config-'))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  const cwd = join(home, 'work')
  const at = (file: string): string => join(home, file)
  const write = (file: string, content: string): void => {
    mkdirSync(dirname(at(file)), { recursive: true })
    writeFileSync(at(file), content)
  }
  mkdirSync(cwd)
  const file = join('.config', 'jackfield', own)
  if (text !== '') write(file, text)
  for (const [name, content] of Object.entries(files)) write(name, content)
  const layers = { cwd, home, env: { HOME: home } }
  const config = await loadLayers(layers)
  const { servers, rules } = config
  const secrets = memorySecrets()
  const service = new HostService({
    ...{ servers, rules, models: [], version: '1', secrets, home, env: layers.env },
    configuration: { layers, config },
  })
  onTestFinished(() => service.close())
  const { configuration } = service
  return {
    ...{ service, configuration, secrets, at, write },
    file: at(file),
    read: () => readFileSync(at(file), 'utf8'),
    save: async (change: ConfigChange) => {
      const plan = await configuration.plan(change)
      await configuration.write(plan.id)
      return plan
    },
  }
}

describe('the configuration of a host', () => {
  test('has file and line of each value, and no secret', async () => {
    const { configuration, file } = await configured(ownText)
    const view = await configuration.view()
    expect(view.files.filter(({ exists }) => exists)).toMatchObject([{ file, layer: 'user', isOwn: true }])
    const [files] = view.servers
    expect(files).toMatchObject({ name: 'files', disabled: true, line: 4 })
    expect(files?.fields).toContainEqual({
      field: 'env.FILES_TOKEN',
      value: '[FILES_TOKEN]',
      file,
      path: 'mcpServers.files.env.FILES_TOKEN',
      line: 4,
    })
    expect(view.rules.map(({ index, line }) => [index, line])).toEqual([
      [0, 10],
      [1, 12],
    ])
    expect(JSON.stringify(view)).not.toContain('hush-hush-token')
    expect((await configuration.text(file)).text).not.toContain('hush-hush-token')
    expect(JSON.stringify(await configuration.entry('files'))).not.toContain('hush-hush-token')
  })

  test('is changed as previewed, and everything else stays', async () => {
    const { save, read, service, configuration, file } = await configured(ownText)
    const plan = await save({ kind: 'rule', rule: { verdict: 'ask', server: 'files' } })
    expect(plan).toMatchObject({ file, effect: { added: [], removed: [], changed: [] } })
    expect(plan.before).toBe(ownText.replace('hush-hush-token', '[FILES_TOKEN]'))
    expect(read()).toBe(plan.after.replace('[FILES_TOKEN]', 'hush-hush-token'))
    expect(read()).toContain('// Reading is fine')
    expect(service.host.policy.rules().map(({ verdict }) => verdict)).toEqual(['allow', 'deny', 'ask'])

    await save({
      kind: 'rule',
      at: { file, index: 1 },
      rule: { id: 'no-deletes', verdict: 'deny', tool: 'rm_*' },
    })
    expect(read()).toContain('{ "id": "no-deletes", "verdict": "deny", "tool": "rm_*" }')
    await save({ kind: 'rule', at: { file, index: 0 }, rule: null })
    await save({ kind: 'rule', at: { file, index: 1 }, rule: null })
    for (const comment of ['// What I use', '// mine', '// Reading is fine', '// Nothing is deleted'])
      expect(read()).toContain(comment)
    expect(service.host.policy.rules()).toMatchObject([{ id: 'no-deletes', tool: 'rm_*' }])
    expect((await configuration.view()).problems).toEqual([])
  })

  test('keeps secrets that a change shows as names', async () => {
    const { save, read, configuration, file } = await configured(ownText)
    const { entry } = await configuration.entry('files')
    await save({ kind: 'server', name: 'files', entry: { ...Object(entry), args: ['other.js'] } })
    expect(read()).toContain('"hush-hush-token"')
    expect(read()).toContain('"args": [')
    const { text } = await configuration.text(file)
    await save({ kind: 'text', file, text: text.replace('other.js', 'third.js') })
    expect(read()).toContain('"hush-hush-token"')
    expect(read()).toContain('third.js')
  })

  test('does not confuse two secrets with one name', async () => {
    const entry = (secret: string) => ({ command: 'x', env: { TOKEN: secret }, disabled: true })
    const servers = { one: entry('secret-one'), two: entry('secret-two') }
    const { save, configuration, file, read } = await configured(JSON.stringify({ mcpServers: servers }))
    const { text } = await configuration.text(file)
    await expect(save({ kind: 'text', file, text: `${text}\n` })).rejects.toThrow(
      /\[TOKEN\] is the mark of a secret/,
    )
    await save({ kind: 'server', name: 'two', entry: { ...entry('[TOKEN]'), command: 'y' } })
    expect(JSON.parse(read()).mcpServers).toEqual({ ...servers, two: { ...servers.two, command: 'y' } })
  })

  test('is not written if its file changed since the preview', async () => {
    const { configuration, write, read } = await configured(ownText)
    const plan = await configuration.plan({ kind: 'enable', server: 'wiki', enabled: true })
    write('.config/jackfield/config.json', ownText.replace('What I use', 'Another editor'))
    await expect(configuration.write(plan.id)).rejects.toThrow(/changed since the change was shown/)
    expect(read()).toContain('Another editor')
    await expect(configuration.write('unknown')).rejects.toThrow(/has expired/)
  })

  test('cannot be made invalid', async () => {
    const { save, file, read, configuration, at } = await configured(ownText, {
      'work/.vscode/mcp.json': '{"servers":{"code":{"command":"x"}}}',
    })
    await expect(save({ kind: 'text', file, text: '{ "mcpServers": ' })).rejects.toThrow(/not valid JSON/)
    await expect(save({ kind: 'rule', rule: { verdict: 'perhaps' } })).rejects.toThrow(
      /must be allow, ask, deny/,
    )
    await expect(save({ kind: 'server', name: 'wiki', entry: {} })).rejects.toThrow(/needs "command"/)
    await expect(save({ kind: 'text', file: '/etc/passwd', text: 'x' })).rejects.toThrow(/not a file of this/)
    const foreign = at('work/.vscode/mcp.json')
    await expect(save({ kind: 'text', file: foreign, text: '{}' })).rejects.toThrow(/not changed here/)
    await expect(configuration.text('/etc/passwd')).rejects.toThrow(/not a file of this/)
    expect(read()).toBe(ownText)
  })

  test('switches servers of any file on and off, in the own file', async () => {
    const { save, read, service, at } = await configured(ownText, {
      'work/.mcp.json': '{"mcpServers":{"shared":{"command":"node","args":["nothing.js"]}}}',
    })
    const plan = await save({ kind: 'enable', server: 'shared', enabled: false })
    expect(plan.effect).toEqual({ added: [], removed: [], changed: ['shared'] })
    expect(JSON.stringify(service.host.connections.get('shared'))).toContain('disabled')
    expect(readFileSync(at('work/.mcp.json'), 'utf8')).not.toContain('disabled')
    await save({ kind: 'enable', server: 'wiki', enabled: true })
    expect(read()).toContain('"wiki": { "url": "https://wiki.example/mcp" }')
    expect(service.host.connections.get('wiki')?.state).not.toBe('disabled')
  })

  test('copies servers of other applications, and their secrets into the secret store', async () => {
    const cursor = {
      git: { command: 'node', args: ['git.js'], env: { GIT_TOKEN: 'abcdef-secret' }, disabled: true },
    }
    const { configuration, save, read, secrets, file, at } = await configured('', {
      '.cursor/mcp.json': JSON.stringify({ mcpServers: cursor }),
    })
    const from = at('.cursor/mcp.json')
    expect(await configuration.found()).toMatchObject([{ app: 'Cursor', name: 'git', isKnown: false }])
    const plan = await save({ kind: 'import', servers: [{ file: from, name: 'git' }] })
    expect(plan).toMatchObject({ hash: null, secrets: ['git.GIT_TOKEN'], effect: { added: ['git'] } })
    expect(JSON.stringify(plan)).not.toContain('abcdef-secret')
    expect(JSON.parse(read()).mcpServers.git.env).toEqual({ GIT_TOKEN: `\${secret:git.GIT_TOKEN}` })
    expect(await secrets.get('git.GIT_TOKEN')).toBe('abcdef-secret')
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(await configuration.found()).toMatchObject([{ isKnown: true }])
  })

  test('is reloaded when an editor changes it, with a notice', async () => {
    const { service, write, configuration } = await configured(ownText)
    const before = configuration.version
    const changed = new Promise<void>((resolve) => {
      const off = configuration.onChange(() => {
        if (service.host.policy.rules().length !== 1) return
        off()
        resolve()
      })
    })
    write('.config/jackfield/config.json', '{"mcpServers":{},"jackfield":{"rules":[{"verdict":"deny"}]}}')
    await changed
    expect(configuration.version).toBeGreaterThan(before)
    expect(service.host.connections.size).toBe(0)
  })

  test('is changed in YAML with its comments, and not in TOML', async () => {
    const yaml =
      '# Mine\nmcpServers:\n  wiki:\n    url: https://wiki.example/mcp # the wiki\n    disabled: true\n'
    const { save, read } = await configured(yaml, {}, 'config.yaml')
    await save({ kind: 'rule', rule: { verdict: 'deny', tool: 'rm' } })
    expect(read()).toContain('# Mine')
    expect(read()).toContain('# the wiki')
    expect(read()).toContain('- verdict: deny')
    const toml = await configured('[mcpServers.wiki]\nurl = "https://wiki.example/mcp"\n', {}, 'config.toml')
    await expect(toml.save({ kind: 'rule', rule: { verdict: 'deny' } })).rejects.toThrow(/is TOML/)
    expect(existsSync(join(dirname(toml.file), 'config.json'))).toBe(false)
  })
})
