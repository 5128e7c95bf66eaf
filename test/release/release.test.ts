import { expect, it } from 'vitest'
import { publishedFolders, readManifest } from '../../scripts/fresh-project.ts'
import { root, run } from '../../scripts/run.ts'

const limitMs = 60_000

it('the rehearsal of a release packs every package after its dependencies, and publishes nothing', {
  timeout: limitMs,
}, async () => {
  const command = ['node', 'scripts/release.ts', '--dry-run', '--skip-build', '--skip-checks']
  const { code, output } = await run(command, { limitMs })
  expect({ code, output: code === 0 ? '' : output }).toEqual({ code: 0, output: '' })
  expect(output).toMatch(/✓ licenses of \d{2,} dependencies/)
  expect(output).toContain('Nothing was published.')
  const order = [...output.matchAll(/^\d+ +(\S+) +\d+\.\d+\.\d+/gm)].map(([, name = '']) => name)
  const names = publishedFolders().map((folder) => readManifest(`${root}${folder}`).name)
  expect([...order].sort()).toEqual([...names].sort())
  const needs: Record<string, string[]> = {
    '@jackfield/host': ['@jackfield/sdk'],
    jackfield: ['@jackfield/host', '@jackfield/sdk', '@jackfield/server-travel'],
    // Its templates install them.
    'create-jackfield': ['jackfield', '@jackfield/host', '@jackfield/sdk'],
  }
  for (const [name, needed] of Object.entries(needs)) {
    for (const one of needed)
      expect(order.indexOf(one), `${one} before ${name}`).toBeLessThan(order.indexOf(name))
  }
})

it('a release is built and checked: steps are skipped in a rehearsal only', async () => {
  for (const option of ['--skip-checks', '--skip-build']) {
    const { code, output } = await run(['node', 'scripts/release.ts', option], { limitMs })
    expect({ code, output }).toEqual({
      code: 2,
      output:
        '--skip-build and --skip-checks are for --dry-run only: what is published is built and checked.\n',
    })
  }
})
