import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { filesystem, run, tempFolder } from './jackfield.ts'

/** A project with a file server in its config. */
function project(): { cwd: string; jackfield: (...words: string[]) => ReturnType<typeof run> } {
  const cwd = realpathSync(tempFolder())
  const [command, ...args] = filesystem(cwd)
  writeFileSync(join(cwd, 'config.json'), JSON.stringify({ mcpServers: { files: { command, args } } }))
  const options = ['--config', 'config.json', '--store', join(cwd, 'store.db')]
  return { cwd, jackfield: (...words) => run([...words, ...options], { cwd }) }
}

test('folders are added, shown and removed', async () => {
  const { cwd, jackfield } = project()
  const other = realpathSync(tempFolder())
  expect((await jackfield('roots')).stdout).toMatch(new RegExp(`${cwd} +workspace`))
  expect(await jackfield('roots', 'add', other, '--name', 'other')).toMatchObject({
    code: 0,
    stdout: `${other} is open to servers that you allow it to.\n`,
  })
  const { folders } = JSON.parse((await jackfield('roots', '--json')).stdout)
  expect(folders).toMatchObject([{ from: 'workspace' }, { from: 'added', name: 'other' }])
  expect((await jackfield('roots', 'remove', other)).stdout).toContain('is no longer shared with any server')
  expect((await jackfield('roots', 'exclude', cwd)).code).toBe(0)
  expect((await jackfield('roots')).stdout).toContain('✗ not shared: it is excluded by')
  expect((await jackfield('roots', 'include', cwd)).stdout).toContain('no longer excluded')
})

test('a folder that cannot be added is an error with the reason', async () => {
  const { cwd, jackfield } = project()
  symlinkSync(tempFolder(), join(cwd, 'out'))
  expect(await jackfield('roots', 'add', 'out')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('is a link out of it'),
  })
  expect(await jackfield('roots', 'add', 'https://example.org/')).toMatchObject({ code: 2 })
  expect(await jackfield('roots', 'add')).toMatchObject({ code: 2, stderr: expect.stringContaining('Usage') })
  expect(await jackfield('roots', 'allow', 'nobody')).toMatchObject({ code: 2 })
})

test('a decision on roots can be made in advance, and applies without a user', async () => {
  const { cwd, jackfield } = project()
  const inner = join(cwd, 'inner')
  mkdirSync(inner)
  await jackfield('roots', 'add', 'inner')
  expect((await jackfield('roots', 'preview', 'files')).stdout).toMatch(
    /2 folders, \d+ files?: config.json {2}inner\//,
  )
  expect((await jackfield('roots', 'allow', 'files', 'inner')).stdout).toBe(`files may see: ${inner}\n`)
  expect((await jackfield('call', 'files', 'list_directory', `path=${inner}`)).code).toBe(0)
  const { stdout } = await jackfield('roots')
  expect(stdout).toMatch(/files +allowed +just now +\S+inner/)
  expect(stdout).toContain(
    'files still requests roots, which revision 2026-07-28 of the protocol deprecates.',
  )
  expect((await jackfield('roots', 'deny', 'files')).stdout).toBe('No folder is shared with files.\n')
  expect((await jackfield('roots', 'forget', 'files')).stdout).toContain('You will be asked again')
  expect((await jackfield('roots', 'forget', 'files')).stdout).toContain('There was no decision')
})
