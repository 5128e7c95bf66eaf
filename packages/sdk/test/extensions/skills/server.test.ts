import { createHash } from 'node:crypto'
import { defineServer, type ResourceContents, resource } from '@jackfield/sdk'
import { connect } from '@jackfield/sdk/client'
import { generatedSkill, type SkillDefinition, skill, skills } from '@jackfield/sdk/extensions/skills'
import {
  GetSkillResultSchema,
  ListSkillsResultSchema,
  ReadResourceDirectoryResultSchema,
} from '@modelcontextprotocol/core/ext/skills'
import { describe, expect, it, onTestFinished } from 'vitest'
import { caller, modern } from '../tasks/support.ts'
import { pdf, pdfText, refunds, served, stamp, textOf } from './support.ts'

const sha = (bytes: string | Uint8Array): string =>
  `sha256:${createHash('sha256').update(bytes).digest('hex')}`

describe('a server with skills', () => {
  it('declares the extension inline, with resources', async () => {
    const { client } = await served([pdf])
    expect(client.server.capabilities.extensions).toEqual({
      'io.modelcontextprotocol/skills': { directoryRead: true },
    })
    expect(client.server.capabilities.resources).toBeDefined()
  })

  it('answers in the shapes the official package expects', async () => {
    const { server } = await served([pdf, refunds])
    const raw = modern(server, { capabilities: {} })
    ListSkillsResultSchema.parse(await raw.ask('skills/list'))
    GetSkillResultSchema.parse(await raw.ask('skills/get', { uri: 'skill://pdf-processing/SKILL.md' }))
    ReadResourceDirectoryResultSchema.parse(
      await raw.ask('resources/directory/read', { uri: 'skill://pdf-processing' }),
    )
    await raw.close()
  })

  it('lists each skill with its frontmatter and every file, by digest and size', async () => {
    const { client, skills } = await served([pdf, refunds])
    const [first, second] = await skills.list(client)
    expect(first?.frontmatter).toEqual({
      name: 'pdf-processing',
      description: 'Extract, fill and assemble PDF documents',
      license: 'Apache-2.0',
      metadata: { version: '2.1.0' },
    })
    const root = 'skill://pdf-processing'
    const eu = '\uFEFF# Invoice, EU ü\n'
    expect(first).toMatchObject({ uri: `${root}/SKILL.md` })
    expect(first?.resources).toEqual([
      { uri: `${root}/SKILL.md`, digest: sha(pdfText), size: Buffer.byteLength(pdfText) },
      { uri: `${root}/references/FORMS.md`, digest: sha('# Forms\n'), size: 8 },
      { uri: `${root}/templates/invoice.md`, digest: sha('# Invoice\n'), size: 10 },
      { uri: `${root}/templates/regional/eu%20invoice.md`, digest: sha(eu), size: Buffer.byteLength(eu) },
      { uri: `${root}/assets/stamp.bin`, digest: sha(stamp), size: 6 },
    ])
    expect(second?.uri).toBe('skill://acme/billing/refunds/SKILL.md')
  })

  it('serves files as resources, of which the list shows each SKILL.md', async () => {
    const { client } = await served([pdf, refunds])
    expect(await client.resources()).toMatchObject([
      { uri: 'skill://pdf-processing/SKILL.md', name: 'pdf-processing', mimeType: 'text/markdown' },
      { uri: 'skill://acme/billing/refunds/SKILL.md', name: 'refunds', description: 'What refunds does' },
    ])
    const content = async (uri: string): Promise<ResourceContents | undefined> =>
      (await client.read(uri)).contents[0]
    expect(await content('skill://pdf-processing/SKILL.md')).toMatchObject({
      text: pdfText,
      mimeType: 'text/markdown',
    })
    expect(await content('skill://pdf-processing/assets/stamp.bin')).toMatchObject({
      blob: Buffer.from(stamp).toString('base64'),
    })
  })

  it.each([
    'skill://pdf-processing',
    'skill://pdf-processing/../acme/billing/refunds/SKILL.md',
    'skill://pdf-processing/references/%2e%2e/SKILL.md',
    'skill://pdf-processing/none.md',
    'skill://PDF-processing/SKILL.md',
  ])('has no resource at %s', async (uri) => {
    const { client } = await served([pdf, refunds])
    await expect(client.read(uri)).rejects.toMatchObject({ code: -32602 })
    await expect(client.request('skills/get', { uri })).rejects.toMatchObject({ code: -32602 })
  })

  it('lists the skills page by page', async () => {
    const names = ['a', 'b', 'c', 'd', 'e']
    const { client, skills } = await served(
      names.map((name) => skill({ text: textOf(name) })),
      { pageSize: 2 },
    )
    const first = await client.request('skills/list')
    expect(first['skills']).toHaveLength(2)
    expect(first['nextCursor']).toBeTypeOf('string')
    expect((await skills.list(client)).map(({ frontmatter }) => frontmatter.name)).toEqual(names)
    await expect(client.request('skills/list', { cursor: 'zz' })).rejects.toMatchObject({ code: -32602 })
  })

  it('finds a skill that is not listed by its URI alone', async () => {
    const { client, skills } = await served([
      pdf,
      skill({ text: textOf('hidden'), under: 'acme', listed: false }),
    ])
    expect(await skills.list(client)).toHaveLength(1)
    expect(await client.resources()).toHaveLength(1)
    const uri = 'skill://acme/hidden/SKILL.md'
    expect(await skills.get(client, uri)).toMatchObject({ uri })
    await expect(skills.directory(client, 'skill://acme')).rejects.toMatchObject({ code: -32602 })
    expect(await skills.directory(client, 'skill://acme/hidden')).toHaveLength(1)
  })

  it('serves clients of older revisions and those without skills', async () => {
    const server = defineServer({ name: 'docs', version: '1', extensions: [skills([pdf])] })
    for (const revisions of [['2025-11-25'], ['2026-07-28']] as const) {
      const client = await connect(server, { revisions })
      onTestFinished(() => client.close())
      await expect(client.request('skills/list')).resolves.toMatchObject({ skills: [{}] })
    }
  })

  it('replaces its skills and notifies subscribers', async () => {
    const extension = skills([pdf])
    const server = defineServer({ name: 'docs', version: '1', extensions: [extension] })
    const changes: unknown[] = []
    const client = await connect(server, { onChange: (change) => changes.push(change) })
    onTestFinished(() => client.close())
    const watch = await client.watch({ resourcesListChanged: true })
    expect(() => extension.replace([refunds, refunds])).toThrow('refunds')
    await expect(client.request('skills/list')).resolves.toMatchObject({
      skills: [{ frontmatter: { name: 'pdf-processing' } }],
    })
    extension.replace([refunds])
    await expect.poll(() => changes).toEqual([{ type: 'resources' }])
    await expect(client.request('skills/list')).resolves.toMatchObject({
      skills: [{ frontmatter: { name: 'refunds' } }],
    })
    await expect(client.read('skill://pdf-processing/SKILL.md')).rejects.toMatchObject({ code: -32602 })
    await watch.close()
  })

  it('hides skills with scopes from others', async () => {
    const server = defineServer({
      name: 'docs',
      version: '1',
      extensions: [skills([pdf], { scopes: ['docs'] })],
    })
    const unauthorized = modern(server, { caller: caller('eve') })
    const authorized = modern(server, { caller: caller('ann', ['docs']) })
    const uri = 'skill://pdf-processing/SKILL.md'
    for (const [method, params] of [
      ['skills/list', {}],
      ['skills/get', { uri }],
      ['resources/directory/read', { uri: 'skill://pdf-processing' }],
      ['resources/read', { uri }],
    ] as const) {
      expect(await unauthorized.send(method, params), method).toHaveProperty('error')
      expect(await authorized.send(method, params), method).toHaveProperty('result')
    }
    expect(await unauthorized.ask('resources/list')).toMatchObject({ resources: [] })
    await Promise.all([unauthorized.close(), authorized.close()])
  })
})

describe('a directory', () => {
  it('has the direct children, files as resources and folders as directories', async () => {
    const { client, skills } = await served([pdf, refunds])
    expect(await skills.directory(client, 'skill://pdf-processing')).toMatchObject([
      { uri: 'skill://pdf-processing/SKILL.md', name: 'pdf-processing', mimeType: 'text/markdown' },
      { uri: 'skill://pdf-processing/references', name: 'references', mimeType: 'inode/directory' },
      { uri: 'skill://pdf-processing/templates', name: 'templates', mimeType: 'inode/directory' },
      { uri: 'skill://pdf-processing/assets', name: 'assets', mimeType: 'inode/directory' },
    ])
    expect(await skills.directory(client, 'skill://pdf-processing/templates/regional')).toMatchObject([
      { uri: 'skill://pdf-processing/templates/regional/eu%20invoice.md', name: 'eu invoice.md' },
    ])
    expect(await skills.directory(client, 'skill://acme')).toMatchObject([
      { uri: 'skill://acme/billing', name: 'billing', mimeType: 'inode/directory' },
    ])
  })

  it.each(['skill://pdf-processing/SKILL.md', 'skill://pdf-processing/', 'skill://none', 'file:///etc'])(
    'does not exist at %s',
    async (uri) => {
      const { client } = await served([pdf])
      await expect(client.request('resources/directory/read', { uri })).rejects.toMatchObject({
        code: -32602,
      })
    },
  )

  it('cannot be read if the server does not allow it', async () => {
    const { client, skills } = await served([pdf], { directoryRead: false })
    expect(client.server.capabilities.extensions).toEqual({ 'io.modelcontextprotocol/skills': {} })
    await expect(
      client.request('resources/directory/read', { uri: 'skill://pdf-processing' }),
    ).rejects.toMatchObject({ code: -32601 })
    await expect(skills.directory(client, 'skill://pdf-processing')).rejects.toMatchObject({
      code: 'CAPABILITY',
    })
  })
})

describe('a skill inside of another', () => {
  it('is both a part of it and a separate skill', async () => {
    const inner = skill({ text: textOf('inner'), under: 'outer/parts' })
    const { client, skills } = await served([skill({ text: textOf('outer') }), inner])
    const [outer, nested] = await skills.list(client)
    expect(outer?.resources).toMatchObject([
      { uri: 'skill://outer/SKILL.md' },
      { uri: 'skill://outer/parts/inner/SKILL.md' },
    ])
    expect(nested?.resources).toMatchObject([{ uri: 'skill://outer/parts/inner/SKILL.md' }])
  })

  it('cannot be generated if the other is not', () => {
    const inner = generatedSkill({
      frontmatter: { name: 'inner', description: 'x' },
      under: 'outer',
      body: () => '',
    })
    expect(() => skills([skill({ text: textOf('outer') }), inner])).toThrow(/"outer".*generated/)
  })
})

describe('a generated skill', () => {
  it('declares no files, and its SKILL.md has the frontmatter of its entry', async () => {
    let count = 0
    const daily = generatedSkill({
      frontmatter: { name: 'daily', description: 'Yes: "no"\n- #1', metadata: { on: 'yes', n: '1.0' } },
      body: () => `Report ${++count}\n`,
      files: { 'data/rows.csv': async () => `a,${count}\n` },
    })
    const { client, skills } = await served([daily], { cache: { ttlMs: 60_000, cacheScope: 'public' } })
    const [entry] = await skills.list(client)
    expect(entry?.resources).toBe('dynamic')
    if (entry === undefined) throw new Error('not listed')
    await expect(skills.load(client, entry)).rejects.toMatchObject({
      code: 'UNVERIFIED',
      details: { check: 'dynamic' },
    })
    const loaded = await skills.load(client, entry, { acceptUnverifiableContent: true })
    expect(loaded.text).toMatch(/Report 1\n$/)
    expect((await loaded.read('data/rows.csv')).text).toBe('a,1\n')
    await expect(loaded.read('../daily/SKILL.md')).rejects.toMatchObject({ code: 'UNVERIFIED' })
    const again = await client.read('skill://daily/SKILL.md')
    expect(again).toMatchObject({
      ttlMs: 0,
      cacheScope: 'private',
      contents: [{ text: expect.stringContaining('Report 2') }],
    })
  })
})

describe('an invalid definition is rejected, by name', () => {
  const good = textOf('good')
  it.each<[string, SkillDefinition, RegExp]>([
    ['no frontmatter', { text: '# Hi' }, /frontmatter/],
    ['frontmatter that is not YAML', { text: '---\nname: [\n---\n' }, /not YAML/],
    ['frontmatter that is a list', { text: '---\n- name\n---\n' }, /not a mapping/],
    ['a value JSON has not', { text: textOf('good', 'n: .nan\n') }, /JSON cannot represent/],
    ['a key twice', { text: textOf('good', 'name: good\n') }, /not YAML/],
    ['too many aliases', { text: textOf('good', `a: &a [x,x,x,x,x,x,x,x,x]\n${bomb()}`) }, /not YAML|JSON/],
    ['lists in place of names', { text: textOf('good', `${'? '.repeat(600)}x\n`) }, /not YAML/],
    [
      'frontmatter without an end in sight',
      { text: textOf('good', `${'# x\n'.repeat(5_000)}`) },
      /frontmatter/,
    ],
    ['no description', { text: '---\nname: good\n---\n' }, /description/],
    [
      'a long description',
      { text: `---\nname: good\ndescription: ${'x'.repeat(1025)}\n---\n` },
      /description/,
    ],
    ['upper case', { text: textOf('Good') }, /name/],
    ['two hyphens', { text: textOf('go--od') }, /name/],
    ['a hyphen at the end', { text: textOf('good-') }, /name/],
    ['a long name', { text: textOf('g'.repeat(65)) }, /name/],
    ['a reserved key', { text: textOf('good', 'metadata:\n  io.modelcontextprotocol/x: 1\n') }, /reserved/],
    ['a path that climbs', { text: good, files: { 'a/../../b': '' } }, /not a relative file path/],
    ['a path with a backslash', { text: good, files: { 'a\\b': '' } }, /not a relative file path/],
    ['an absolute path', { text: good, files: { '/a': '' } }, /not a relative file path/],
    ['SKILL.md twice', { text: good, files: { 'SKILL.md': '' } }, /SKILL\.md/],
    ['a file that is a folder', { text: good, files: { a: '', 'a/b': '' } }, /both a file and a folder/],
    ['a prefix that climbs', { text: good, under: 'a/..' }, /under/],
    ['a prefix with a space', { text: good, under: 'a b' }, /under/],
    ['too many files', { text: good, files: many(512) }, /513 files/],
    ['too many bytes', { text: good, files: { big: new Uint8Array(16_777_216) } }, /bytes/],
  ])('%s', (_what, definition, why) => {
    expect(() => skill(definition)).toThrow(
      expect.objectContaining({ code: 'INVALID', message: expect.stringMatching(why) }),
    )
    expect(() => skill(definition)).toThrow(/^Skill "/)
  })

  it('two with one path, or with a name of the server', () => {
    expect(() => skills([pdf, pdf])).toThrow(/pdf-processing/)
    const taken = { 'skill-files': resource({ uri: 'x:y', read: () => '' }) }
    expect(() =>
      defineServer({ name: 's', version: '1', resources: taken, extensions: [skills([pdf])] }),
    ).toThrow(/"skill-files"/)
  })

  it('accepts everything that hosts accept', () => {
    expect(skill({ text: good, files: many(511) }).files.size).toBe(512)
    const room = 16_777_216 - Buffer.byteLength(good)
    expect(skill({ text: good, files: { big: new Uint8Array(room) } }).files.size).toBe(2)
  })
})

function many(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, i) => [`f${i}`, '']))
}

/** Nine levels of aliases, each nine times the one before. */
function bomb(): string {
  const levels = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i']
  return levels
    .slice(1)
    .map((name, i) => `${name}: &${name} [${Array(9).fill(`*${levels[i]}`).join(',')}]\n`)
    .join('')
}
