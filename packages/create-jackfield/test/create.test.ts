import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type Manifest, readManifest } from '../../../scripts/fresh-project.ts'
import { type Finished, root, run } from '../../../scripts/run.ts'
import { openTerminal, terminalMissing } from '../../../scripts/terminal/terminal.ts'
import { builtProgram } from '../../../test/setup/built-program.ts'
import { planProject, problemWithName, templates, writeProject } from '../src/create.ts'

const bin = builtProgram('create-jackfield')

function tempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'create-jackfield-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Runs the command in a folder without a terminal. */
function create(cwd: string, words: string[], env: Record<string, string> = {}): Promise<Finished> {
  return run(['node', bin, ...words], { limitMs: 20_000, cwd, env })
}

describe('create-jackfield', () => {
  it.each(Object.keys(templates))(
    'writes the template %s with its name and these versions',
    async (template) => {
      const folder = tempFolder()
      const words = ['my-notes', '--template', template, '--no-install']
      expect(await create(folder, words)).toMatchObject({ code: 0 })
      const project = join(folder, 'my-notes')
      const { name, dependencies, devDependencies }: Manifest = readManifest(project)
      expect(name).toBe('my-notes')
      const ours = { ...dependencies, ...devDependencies }
      const version = readManifest(join(root, 'packages/sdk')).version
      expect(ours).toMatchObject({ '@jackfield/sdk': `^${version}`, jackfield: `^${version}` })
      expect(existsSync(join(project, '.gitignore'))).toBe(true)
      for (const file of globSync('**/*', { cwd: project, withFileTypes: true })) {
        if (!file.isFile()) continue
        expect(readFileSync(join(file.parentPath, file.name), 'utf8'), file.name).not.toMatch(/\{\{\w+\}\}/)
      }
    },
  )

  it('templates depend on the versions that this repository tests', () => {
    const manifest: { devDependencies: Record<string, string> } = JSON.parse(
      readFileSync(join(root, 'package.json'), 'utf8'),
    )
    const { dependencies: own = {} } = readManifest(join(root, 'packages/create-jackfield'))
    const tested = { ...manifest.devDependencies, ...own }
    for (const template of Object.keys(templates)) {
      const folder = join(root, 'packages/create-jackfield/templates', template)
      const { dependencies, devDependencies }: Manifest = readManifest(folder)
      for (const [name, range] of Object.entries({ ...dependencies, ...devDependencies })) {
        if (range !== '{{version}}')
          expect({ name, range }).toEqual({ name, range: `^${tested[name]?.replace('^', '')}` })
      }
    }
  })

  it('rejects a folder that is not empty, and changes nothing in it', async () => {
    const folder = tempFolder()
    writeFileSync(join(folder, 'thesis.txt'), 'mine')
    const finished = await create(folder, ['.', '--template', 'stdio', '--name', 'notes', '--no-install'])
    expect(finished).toMatchObject({ code: 2 })
    expect(finished.output).toBe(
      `${folder} is not empty: it contains thesis.txt. Choose another folder, or empty this one. Nothing was changed.\n`,
    )
    expect(readdirSync(folder)).toEqual(['thesis.txt'])
  })

  it('writes into an empty folder and into a new repository', async () => {
    const folder = tempFolder()
    mkdirSync(join(folder, '.git'))
    const finished = await create(folder, [
      '.',
      '--template',
      'stdio',
      '--name',
      '@ann/notes',
      '--no-install',
    ])
    expect(finished).toMatchObject({ code: 0 })
    expect(readManifest(folder).name).toBe('@ann/notes')
  })

  it.each([
    [
      ['notes'],
      'Missing: --template. There is no terminal to ask for them. Write: npm create jackfield notes -- --template stdio',
    ],
    [[], 'Missing: a folder and --template.'],
    [['notes', '--template', 'sdtio'], 'There is no template "sdtio". Templates: stdio, http, host.'],
    [
      ['My Notes', '--template', 'stdio'],
      '"My Notes" cannot be a package name: it has capital letters. Choose another folder, or add --name my-notes.',
    ],
    [
      ['notes', '--template', 'stdio', '--name', '.x'],
      '".x" cannot be a package name: it begins with ".". Write --name x.',
    ],
    [['notes', 'more', '--template', 'stdio'], 'Expected one folder; remove "more".'],
    [
      ['notes', 'http'],
      'npm interpreted --template as its own option, because there is no "--" before it. Write: npm create jackfield notes -- --template http',
    ],
    [['notes', '--tempate', 'stdio'], "Unknown option '--tempate'. See --help."],
    [['file', '--template', 'stdio'], 'is not a folder. Choose another name.'],
  ])('%j ends with exit code 2 and advice', async (words, message) => {
    const folder = tempFolder()
    writeFileSync(join(folder, 'file'), '')
    const finished = await create(folder, words)
    expect(finished.output).toContain(message)
    expect(finished.code).toBe(2)
    expect(finished.output).not.toMatch(/^\s+at /m)
    expect(readdirSync(folder)).toEqual(['file'])
  })

  it('names the missing "--" when npm interpreted the option as its own', async () => {
    const finished = await create(tempFolder(), ['notes'], { npm_config_template: 'stdio' })
    expect(finished.output).toContain(
      'npm interpreted --template as its own option, because there is no "--" before it',
    )
  })

  it('overwrites nothing, and writes nothing, if a file exists at a target path', () => {
    const folder = tempFolder()
    const project = planProject({ folder, template: 'stdio', name: 'notes' })
    mkdirSync(join(folder, 'test'))
    writeFileSync(join(folder, 'test/server.test.ts'), 'mine')
    expect(() => writeProject(project)).toThrow(/^Cannot write the project: EEXIST.*were removed/)
    expect(readdirSync(folder, { recursive: true })).toEqual(['test', 'test/server.test.ts'])
    expect(readFileSync(join(folder, 'test/server.test.ts'), 'utf8')).toBe('mine')
  })

  it('reports a failed installation with exit code 1, and keeps the project', async () => {
    const folder = tempFolder()
    const finished = await create(folder, ['notes', '--template', 'stdio'], {
      npm_config_registry: 'http://127.0.0.1:1/',
      npm_config_cache: join(folder, 'cache'),
      npm_config_fetch_retries: '0',
    })
    expect(finished).toMatchObject({ code: 1, output: expect.stringContaining('npm install') })
    expect(existsSync(join(folder, 'notes/src/main.ts'))).toBe(true)
  })

  it('has help and a version', async () => {
    const help = await create(tempFolder(), ['--help'])
    expect(help).toMatchObject({ code: 0, output: expect.stringContaining('--no-install') })
    const { version } = readManifest(join(root, 'packages/create-jackfield'))
    expect(await create(tempFolder(), ['--version'])).toMatchObject({ code: 0, output: `${version}\n` })
  })

  it.each([
    ['a', undefined],
    ['@ann/notes', undefined],
    ['notes_2.0', undefined],
    ['', 'it is empty'],
    ['-notes', 'it begins with "-"'],
    ['@ann/_x', 'it begins with "_"'],
    ['node_modules', 'npm reserves it'],
    ['a'.repeat(215), 'it has more than 214 characters'],
    ['ünit', 'it may contain only letters a to z, digits, hyphens, dots and underscores'],
    ['a/b/c', 'it may contain only letters a to z, digits, hyphens, dots and underscores'],
    ['..', 'it begins with "."'],
  ])('the name %j: %s', (name, problem) => {
    expect(problemWithName(name)).toBe(problem)
  })
})

const noTerminal = terminalMissing()
describe.skipIf(noTerminal !== undefined)('create-jackfield in a terminal', () => {
  function open(folder: string, words: string[] = []) {
    const terminal = openTerminal([process.execPath, bin, ...words], {
      cwd: folder,
      env: { PATH: process.env['PATH'] ?? '', NO_COLOR: '1' },
      rows: 40,
      cols: 100,
    })
    onTestFinished(() => terminal.close())
    return terminal
  }

  it('asks for the folder, the template and whether to install', async () => {
    const folder = tempFolder()
    const terminal = open(folder)
    await terminal.until('In which folder?')
    terminal.type('.hidden\r')
    await terminal.until('cannot be a package name')
    for (const _ of '.hidden') terminal.press('backspace')
    terminal.type('notes\r')
    await terminal.until('Which template?')
    terminal.press('enter')
    await terminal.until('Run npm install?')
    terminal.type('n')
    expect(await terminal.exited).toBe(0)
    expect(terminal.history()).toContain('npm run call')
    expect(existsSync(join(folder, 'notes/src/server.ts'))).toBe(true)
  })

  it('asks nothing if the folder cannot be used', async () => {
    const folder = tempFolder()
    writeFileSync(join(folder, 'thesis.txt'), 'mine')
    const terminal = open(folder, ['.', '--name', 'notes'])
    expect(await terminal.exited).toBe(2)
    expect(terminal.history()).toContain('is not empty')
    expect(terminal.history()).not.toContain('Which template?')
  })

  it('writes nothing if the user presses Esc', async () => {
    const folder = tempFolder()
    const terminal = open(folder, ['notes'])
    await terminal.until('Which template?')
    terminal.press('escape')
    expect(await terminal.exited).toBe(130)
    expect(terminal.history()).toContain('Nothing was written.')
    expect(readdirSync(folder)).toEqual([])
  })
})
