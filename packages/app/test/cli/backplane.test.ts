import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { installHint, openBackplane } from '../../src/cli/backplane.ts'

const name = '@jackfield/redis'

it.each([
  ['a project', 'app', 'package.json', /^Install it in .*app: npm install @jackfield\/redis$/],
  ['a global folder', 'lib', undefined, /global jackfield: npm install --global @jackfield\/redis$/],
  [
    'the cache of npx',
    '_npx/3f',
    'package.json',
    /npx --package jackfield --package @jackfield\/redis jackfield/,
  ],
  [
    'the store of pnpm',
    'node_modules/.pnpm/jackfield@1',
    undefined,
    /pnpm add @jackfield\/redis, or .* --global/,
  ],
  ['the global folder of bun', '.bun/install/global', 'package.json', /bun add --global @jackfield\/redis$/],
  ['the single-file executable', 'cache', 'start.cjs', /npm install --global jackfield @jackfield\/redis$/],
])(
  'a missing package of a backplane is to be installed where jackfield is: in %s',
  (_, place, file, hint) => {
    const folder = join(mkdtempSync(join(tmpdir(), 'backplane-')), place)
    const own = join(folder, 'node_modules', 'jackfield')
    mkdirSync(own, { recursive: true })
    if (file !== undefined) writeFileSync(join(folder, file), '')
    expect(installHint(name, own)).toMatch(hint)
  },
)

it('a backplane that cannot be reached ends the command with code 3', async () => {
  await expect(openBackplane('redis://127.0.0.1:1', () => {})).rejects.toMatchObject({
    exitCode: 3,
    code: 'CONNECT_FAILED',
    message: expect.stringContaining('Redis'),
  })
})
