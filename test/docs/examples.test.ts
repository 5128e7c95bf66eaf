import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root, run } from '../../scripts/run.ts'

const folder = join(root, 'examples')
const examples = readdirSync(folder, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)

/** Examples with a test of their own: of several programs, or run in their folder. */
const elsewhere: Readonly<Record<string, string>> = {
  adapters: 'packages/sdk/test/adapters/examples.test.ts',
  quickstart: 'test/docs/readme.test.ts',
}

/** The entry of an example: a program that compares its two sides, or its client, which starts the server. */
function beginning(example: string): string | undefined {
  const names = ['check.ts', 'client.ts', 'main.ts']
  return names.map((name) => join('examples', example, name)).find((file) => existsSync(join(root, file)))
}

describe('every example', () => {
  it.concurrent.each(examples.filter((name) => !(name in elsewhere)))(
    '%s works as described',
    { timeout: 90_000 },
    async (example) => {
      const file = beginning(example)
      expect(file, 'has a check.ts, client.ts or main.ts').toBeDefined()
      const { code, output, timedOut } = await run(['node', '--no-warnings', file ?? ''], { limitMs: 80_000 })
      expect({ code, timedOut, output: code === 0 ? '' : output }).toEqual({
        code: 0,
        timedOut: false,
        output: '',
      })
      expect(output.trim()).not.toBe('')
    },
  )

  it.each(Object.entries(elsewhere))('%s is run by %s', (example, file) => {
    expect(examples).toContain(example)
    expect(readFileSync(join(root, file), 'utf8')).toContain(`examples/${example}/`)
  })

  it('is in the list of examples', () => {
    const listed = readFileSync(join(folder, 'README.md'), 'utf8')
    const links = [...listed.matchAll(/\]\((\w[\w-]*)\)/g)].map(([, name]) => name)
    expect(links.sort()).toEqual([...examples].sort())
  })
})
