import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root, run } from '../../scripts/run.ts'
import { builtProgram, startOptions } from '../setup/built-program.ts'
import { blocksIn, pagesIn } from './snippets.ts'

const app = ['node', ...startOptions, builtProgram('jackfield')]

/** Commands that need nothing but this repository. A comment after a command names its requirements. */
const commands = pagesIn(root)
  .flatMap((page) => blocksIn(page, root))
  .filter(({ language, notRun }) => language === 'sh' && notRun === undefined)
  .flatMap(({ page, code }) => code.split('\n').map((line) => ({ page, line })))
  .filter(
    ({ line }) => !line.includes(' #') && /^(?:npx jackfield|jackfield|node examples\/\S+) ?/.test(line),
  )
  // Translations show the same commands.
  .filter(({ line }, at, all) => all.findIndex((one) => one.line === line) === at)

/** The words of a command; nothing in these pages needs more of a shell than quotes. */
function words(line: string): string[] {
  return [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain = '']) => quoted ?? plain)
}

describe('every command in a page', () => {
  it.concurrent.each(commands)('$page: $line', { timeout: 90_000 }, async ({ line }) => {
    const home = mkdtempSync(join(tmpdir(), 'jackfield-home-'))
    const [program = '', ...rest] = words(line.replace(/^npx /, ''))
    const command = program === 'jackfield' ? [...app, ...rest] : [program, ...rest]
    const env = { HOME: home, USERPROFILE: home }
    const { code, output } = await run(command, { limitMs: 80_000, env }).finally(() =>
      rmSync(home, { recursive: true, force: true }),
    )
    expect({ code, output: code === 0 ? '' : output }).toEqual({ code: 0, output: '' })
    expect(output.trim()).not.toBe('')
  })

  it('is among those that are run', () => {
    expect(commands.length).toBeGreaterThan(3)
  })
})
