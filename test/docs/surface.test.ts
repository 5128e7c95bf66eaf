import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { protocolVersions } from '@jackfield/sdk'
import { expect, it } from 'vitest'
import { entries } from '../../scripts/reference/entries.ts'
import { root } from '../../scripts/run.ts'
import { exportedFrom } from './exported.ts'

const sdk = join(root, 'packages/sdk/src')

it('every name that an entry of the SDK exports has one meaning in all entries', () => {
  const declaredIn = new Map<string, Set<string>>()
  for (const { name: entry, file } of entries()) {
    if (!entry.startsWith('@jackfield/sdk')) continue
    for (const { name, file: origin } of exportedFrom(file)) {
      const files = declaredIn.get(name) ?? new Set<string>()
      declaredIn.set(name, files.add(relative(sdk, origin)))
    }
  }
  expect(declaredIn.size).toBeGreaterThan(100)
  const twice = [...declaredIn].filter(([, files]) => files.size > 1)
  expect(twice.map(([name, files]) => `${name}: ${[...files].join(', ')}`)).toEqual([])
})

it('no file outside of protocol/ names a revision', () => {
  const files = readdirSync(sdk, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
  const named = files
    .filter((file) => !file.startsWith('protocol'))
    .flatMap((file) => {
      const code = readFileSync(join(sdk, file), 'utf8')
        .split('\n')
        .filter((line) => !/^\s*(?:\/\/|\/?\*)/.test(line))
      return protocolVersions
        .filter((version) => code.some((line) => line.includes(`'${version}'`)))
        .map((version) => `${file}: ${version}`)
    })
  expect(named).toEqual([])
})
