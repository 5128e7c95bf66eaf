import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { skillsIn } from '@jackfield/sdk/extensions/skills/node'
import { describe, expect, it, onTestFinished } from 'vitest'
import { served, textOf } from './support.ts'

/** A folder with these files, gone when the test is over. */
async function folder(files: Readonly<Record<string, string | Uint8Array>>): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'jackfield-skills-'))
  onTestFinished(() => rm(root, { recursive: true }))
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), content)
  }
  return root
}

describe('skills in a folder', () => {
  it('are each directory with a SKILL.md, at their relative path', async () => {
    const root = await folder({
      'README.md': 'not a skill',
      'git-workflow/SKILL.md': textOf('git-workflow'),
      'acme/billing/refunds/SKILL.md': textOf('refunds'),
      'acme/billing/refunds/examples/email.md': '# Mail\n',
      'acme/billing/refunds/assets/logo.png': new Uint8Array([137, 80, 78, 71, 0]),
      'acme/billing/refunds/inner/SKILL.md': 'a part of it',
      'acme/billing/refunds/.env': 'TOKEN=1',
      '.git/config/SKILL.md': textOf('config'),
    })
    const { client, skills } = await served(await skillsIn(root, { under: 'team' }))
    const listed = await skills.list(client)
    expect(listed.map(({ uri }) => uri)).toEqual([
      'skill://team/acme/billing/refunds/SKILL.md',
      'skill://team/git-workflow/SKILL.md',
    ])
    const [refunds] = listed
    if (refunds === undefined) throw new Error('not listed')
    const paths = refunds.resources === 'dynamic' ? [] : refunds.resources.map(({ uri }) => uri.slice(34))
    expect(paths).toEqual(['SKILL.md', 'assets/logo.png', 'examples/email.md', 'inner/SKILL.md'])
    const loaded = await skills.load(client, refunds)
    expect((await loaded.read('assets/logo.png')).bytes).toEqual(new Uint8Array([137, 80, 78, 71, 0]))
  })

  it('are served as they were read, even if the folder changes', async () => {
    const root = await folder({ 'a/SKILL.md': textOf('a'), 'a/b.md': 'old' })
    const { client, skills } = await served(await skillsIn(root))
    await writeFile(join(root, 'a/b.md'), 'new')
    const [skill] = await skills.list(client)
    if (skill === undefined) throw new Error('not listed')
    const loaded = await skills.load(client, skill)
    expect((await loaded.read('b.md')).text).toBe('old')
  })

  it.each([
    ['a file', 'a/secret.md', 'secret'],
    ['a folder', 'a/out', ''],
    ['a SKILL.md', 'a/SKILL.md', 'SKILL.md'],
  ])('never leave the folder: a symbolic link to %s is rejected', async (_what, at, to) => {
    const outside = await folder({ secret: 'S3CRET', 'SKILL.md': textOf('a') })
    const root = await folder({ 'a/x.md': '', ...(at === 'a/SKILL.md' ? {} : { 'a/SKILL.md': textOf('a') }) })
    await symlink(join(outside, to), join(root, at))
    await expect(skillsIn(root)).rejects.toMatchObject({
      code: 'INVALID',
      message: expect.stringContaining('symbolic link'),
    })
  })

  it.skipIf(process.platform === 'win32')(
    'contain only plain files: a pipe is rejected without waiting',
    async () => {
      const root = await folder({ 'a/SKILL.md': textOf('a') })
      execFileSync('mkfifo', [join(root, 'a/pipe')])
      await expect(skillsIn(root)).rejects.toMatchObject({ code: 'INVALID' })
    },
  )

  it.each([
    ['another name than its directory', { 'a/SKILL.md': textOf('b') }, /named "b"/],
    ['bytes that are no text', { 'a/SKILL.md': new Uint8Array([45, 45, 45, 255]) }, /UTF-8/],
    ['a SKILL.md at the top', { 'SKILL.md': textOf('a') }, /parent folder/],
    [
      'too many files',
      Object.fromEntries(Array.from({ length: 513 }, (_, i) => [`a/${i}`, ''])),
      /512 files/,
    ],
    ['folders too deep', { [`${'d/'.repeat(18)}x`]: '' }, /nested/],
  ])('are rejected, by their path, with %s', async (_what, files, why) => {
    const more = 'a/0' in files ? { ...files, 'a/SKILL.md': textOf('a') } : files
    await expect(skillsIn(await folder(more))).rejects.toMatchObject({
      code: 'INVALID',
      message: expect.stringMatching(why),
    })
  })

  it('have a limit in total', async () => {
    const root = await folder({ 'a/SKILL.md': textOf('a'), 'b/SKILL.md': textOf('b') })
    await expect(skillsIn(root, { maxBytes: 60 })).rejects.toMatchObject({ code: 'INVALID' })
    await expect(skillsIn(root, { maxBytes: 200 })).resolves.toHaveLength(2)
  })
})
