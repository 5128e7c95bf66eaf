import { execFile } from 'node:child_process'
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { root } from '../../scripts/run.ts'
import { type Block, blocksIn, pagesIn } from './snippets.ts'

const blocks = pagesIn(root).flatMap((page) => blocksIn(page, root))
/** Files that pages show unchanged. They are compiled in place. */
const shown = globSync('examples/**/*.ts', { cwd: root }).map((file) =>
  readFileSync(join(root, file), 'utf8'),
)
const tsc = join(createRequire(import.meta.url).resolve('typescript/package.json'), '../bin/tsc')

/** Blocks that make one module together. */
function modules(): Block[][] {
  const all: Block[][] = []
  for (const block of blocks.filter(
    ({ language, code }) => language === 'ts' && !shown.includes(`${code}\n`),
  )) {
    const last = all.at(-1)
    if (block.continues && last?.[0]?.page === block.page) last.push(block)
    else all.push([block])
  }
  return all
}

/** The module's text, with every line at its position in the page. */
function textOf(module: readonly Block[]): string {
  const lines: string[] = []
  const addSnippet = (code: string, line: number): void => {
    code.split('\n').forEach((text, at) => {
      lines[line - 1 + at] = text
    })
  }
  for (const { code, line, given } of module) {
    if (given !== undefined) addSnippet(given.code, given.line)
    addSnippet(code, line)
  }
  const close = module.some(({ given }) => given?.code.trimEnd().endsWith('{')) ? '}' : ''
  return `${Array.from(lines, (line) => line ?? '').join('\n')}\n${close}\nexport {}\n`
}

describe('the code in every page', () => {
  it('compiles as it is', { timeout: 120_000 }, async () => {
    const desk = mkdtempSync(join(root, 'node_modules/.snippets-'))
    onTestFinished(() => rmSync(desk, { recursive: true, force: true }))
    const files = modules().map((module, at) => {
      const file = join(desk, `${at}.ts`)
      writeFileSync(file, textOf(module))
      return { file, page: module[0]?.page }
    })
    expect(files.length).toBeGreaterThan(20)
    // The files next to the reader's own.
    cpSync(new URL('surroundings/', import.meta.url), desk, { recursive: true })
    writeConfig(desk)
    const output = await compile(desk)
    const faults = output
      .split('\n')
      .filter((line) => /^(?:\d+\.ts\(|error )/.test(line))
      .map((line) =>
        line.replace(/^(\d+)\.ts\((\d+),\d+\)/, (_, at, row) => `${files[Number(at)]?.page}:${row}`),
      )
    expect(faults).toEqual([])
  })

  it('is JSON if marked as such', () => {
    for (const { code, page, line } of blocks.filter(({ language }) => language === 'json')) {
      expect(() => JSON.parse(code), `${page}:${line}`).not.toThrow()
    }
  })
})

/** Packages are found as a reader's compiler finds them: by the declarations that the build wrote. */
function writeConfig(desk: string): void {
  const compilerOptions = {
    composite: false,
    incremental: false,
    declaration: false,
    declarationMap: false,
    noEmit: true,
    noErrorTruncation: true,
    types: ['node'],
  }
  const config = {
    extends: join(root, 'tsconfig.base.json'),
    compilerOptions,
    include: ['*.ts'],
    exclude: [],
  }
  writeFileSync(join(desk, 'tsconfig.json'), JSON.stringify(config))
}

function compile(desk: string): Promise<string> {
  return new Promise((resolve) => {
    const args = [tsc, '-p', desk, '--pretty', 'false']
    execFile(process.execPath, args, { cwd: desk, timeout: 100_000, maxBuffer: 1e8 }, (_, stdout, stderr) =>
      resolve(stdout + stderr),
    )
  })
}
