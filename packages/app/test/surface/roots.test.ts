import type { FolderPreview, HostQuestion } from '@jackfield/host'
import { describe, expect, it } from 'vitest'
import { cancelled, type Prompter } from '../../src/forms/prompter.ts'
import { paletteFor } from '../../src/output/palette.ts'
import { askRoots } from '../../src/surface/roots.ts'

const palette = paletteFor({ isTTY: false }, {})
const roots = [{ uri: 'file:///srv/one', name: 'one' }, { uri: 'file:///srv/two' }]
const folders: FolderPreview[] = [
  {
    uri: 'file:///srv/one',
    name: 'one',
    from: 'workspace',
    folders: 1,
    files: 20,
    more: false,
    names: ['src/', 'evil\u001b[2J\u202e.txt'],
    findings: [{ code: 'home', severity: 'danger', message: 'it is your whole home folder' }],
    isNew: false,
  },
  {
    uri: 'file:///srv/two',
    from: 'added',
    folders: 0,
    files: 0,
    more: false,
    names: [],
    findings: [],
    isNew: true,
  },
]
const question: Extract<HostQuestion, { kind: 'roots' }> = {
  kind: 'roots',
  id: '0123456789',
  cause: { server: 'files' },
  roots,
  folders,
}

function answering(choice: string | typeof cancelled, chosen: string[] | typeof cancelled = cancelled) {
  const printed: string[] = []
  const prompter: Prompter = {
    say: (lines) => printed.push(...lines),
    text: async () => cancelled,
    select: async ({ options }) => options.find(({ value }) => value === choice)?.value ?? cancelled,
    multiselect: async () => chosen,
    copy: () => {},
  }
  return { printed, prompter }
}

describe('the roots question', () => {
  it('shows what the server would see, with every character, and warnings', async () => {
    const { printed, prompter } = answering('allow')
    expect(await askRoots(question, prompter, palette)).toEqual({ verdict: 'allow' })
    const text = printed.join('\n')
    expect(text).toMatch(/files requests the folders/)
    expect(text).toMatch(/\/srv\/one {2}\(one\)/)
    expect(text).toMatch(/1 folder, 20 files: src\//)
    expect(text).toMatch(/it is your whole home folder/)
    expect(text).toMatch(/\/srv\/two {2}new/)
    for (const hidden of ['\u001b', '\u202e']) expect(text).not.toContain(hidden)
  })

  it.each<[string | typeof cancelled, object | undefined]>([
    ['deny', { verdict: 'deny' }],
    ['later', undefined],
    [cancelled, undefined],
  ])('accepts %s', async (choice, answer) => {
    expect(await askRoots(question, answering(choice).prompter, palette)).toEqual(answer)
  })

  it('lets the user allow some of them', async () => {
    const some = answering('some', ['file:///srv/two']).prompter
    expect(await askRoots(question, some, palette)).toEqual({ verdict: 'allow', roots: [roots[1]] })
    expect(await askRoots(question, answering('some').prompter, palette)).toBeUndefined()
  })
})
