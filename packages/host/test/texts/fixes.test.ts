import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { fixText } from '../../src/shared/failures.ts'
import { everyFix } from '../fixtures/fixes.ts'

const source = fileURLToPath(new URL('../../src/', import.meta.url))

const command = /\bjackfield [a-z]/
/** Options of our program that only a terminal has. */
const option = /--(?:name|model|set|registry|env|answers|timeout|no-store|start-what-this-folder-names)\b/
/** Files that list the options of other programs. */
const optionLists = ['servers/install/plan.ts', 'servers/launch/command-scan.ts']

/** The lines of a file that are no comments. */
function linesIn(file: string): string[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => !/^\s*(?:\/\/|\/?\*)/.test(line))
}

describe('texts of the host', () => {
  test('contain no command and no option of the command line, because other surfaces show them too', () => {
    const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.ts'),
    )
    expect(files.length).toBeGreaterThan(200)
    const named = files.flatMap((name) =>
      linesIn(join(source, name)).flatMap((line) =>
        command.test(line) || (option.test(line) && !optionLists.includes(name))
          ? [`${name}: ${line.trim()}`]
          : [],
      ),
    )
    expect(named).toEqual([])
  })

  test('have a sentence for every fix, which is one line whatever a server is called', () => {
    const sentences = everyFix.map(fixText)
    expect(new Set(sentences).size).toBe(everyFix.length)
    for (const sentence of sentences) expect(sentence).toMatch(/^[A-Z].*\.$/)
    expect(fixText({ action: 'approve', server: 'a\n\u001b[2Jb' })).toBe('Agree to start a ⟦U+001B⟧[2Jb.')
  })
})
