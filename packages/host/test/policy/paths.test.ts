import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { argumentPatternsOf } from '../../src/core/policy/grants.ts'
import { isInside, testsHold } from '../../src/core/policy/rules.ts'

let base: string
let good: string
let bad: string
beforeAll(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'jackfield-paths-')))
  good = join(base, 'good')
  bad = join(base, 'bad')
  mkdirSync(join(good, 'sub'), { recursive: true })
  mkdirSync(join(bad, 'sub'), { recursive: true })
  mkdirSync(join(base, 'good-not'))
  writeFileSync(join(good, 'a.txt'), 'a')
  symlinkSync(bad, join(good, 'out'))
  symlinkSync('../bad/sub', join(good, 'out-sub'))
  symlinkSync(join(bad, 'new.txt'), join(good, 'dangling'))
  symlinkSync(good, join(bad, 'in'))
  symlinkSync('loop-b', join(good, 'loop-a'))
  symlinkSync('loop-a', join(good, 'loop-b'))
})
afterAll(() => rmSync(base, { recursive: true }))

describe('a path inside a folder', () => {
  const inGood = (path: string): boolean | undefined => isInside(path, [good], good)

  it.each([
    ['the folder itself', () => good],
    ['with a slash at its end', () => `${good}/`],
    ['a file', () => join(good, 'a.txt')],
    ['what is not there yet', () => join(good, 'new', 'deep', 'file')],
    ['a way out and back', () => `${good}/../good/a.txt`],
    ['through a link from elsewhere', () => join(bad, 'in', 'a.txt')],
    ['a file URI', () => pathToFileURL(join(good, 'ä b.txt')).href],
    ['a file URI in other letters', () => pathToFileURL(join(good, 'a.txt')).href.replace('file', 'FILE')],
    ['relative to where the server runs', () => 'sub/x'],
  ])('is %s', (_name, path) => {
    expect(inGood(path())).toBe(true)
  })

  it.each([
    ['another folder', () => bad],
    ['a folder whose name begins alike', () => join(base, 'good-not', 'x')],
    ['the folder above', () => base],
    ['a way out', () => `${good}/../bad/x`],
    ['a way out of a folder that is not there', () => `${good}/nope/../../bad/x`],
    ['through a link to elsewhere', () => join(good, 'out', 'x')],
    ['through a relative link to elsewhere', () => join(good, 'out-sub', 'x')],
    ['a link to what is not there yet', () => join(good, 'dangling')],
    ['a file URI with a way out', () => `${pathToFileURL(good).href}/%2e%2e/bad`],
    ['a relative way out', () => '../bad'],
  ])('is not %s', (_name, path) => {
    expect(inGood(path())).toBe(false)
  })

  it.each([
    ['links in a circle', () => join(good, 'loop-a', 'x')],
    ['another scheme', () => 'https://example.org/x'],
    ['nothing', () => ''],
    ['a NUL', () => `${good}/a\0b`],
    ['a file URI of another machine', () => `file://elsewhere${good}/a.txt`],
    ['a file URI with a hidden slash', () => `${pathToFileURL(good).href}/..%2fbad`],
    ['a path that two readings lead to different places', () => `${good}/out-sub/../a.txt`],
  ])('is undecidable for %s', (_name, path) => {
    expect(inGood(path())).toBeUndefined()
  })

  it('resolves ~ as home and as a name', () => {
    expect(isInside('~/x', [homedir()], good)).toBeUndefined()
    expect(isInside('~/x', [homedir()], homedir())).toBe(true)
    expect(isInside('~/x', [bad], good)).toBe(false)
  })

  it('is undecidable for a relative path without a known folder', () => {
    expect(isInside('a', [good], undefined)).toBeUndefined()
    expect(isInside(join(good, 'a'), ['good'], good)).toBeUndefined()
  })

  it('is outside if the path leads elsewhere', () => {
    const steps = fc.constantFrom(
      'sub',
      'out',
      'out-sub',
      '..',
      '.',
      'a.txt',
      'new',
      'dangling',
      'in',
      'bad',
      'good',
    )
    fc.assert(
      fc.property(fc.array(steps, { maxLength: 7 }), (parts) => {
        const path = `${good}/${parts.join('/')}`
        let real: string
        try {
          real = realpathSync(path)
        } catch {
          return
        }
        const answer = inGood(path)
        const inside = real === good || real.startsWith(`${good}/`)
        if (answer !== undefined) expect(answer).toBe(inside)
      }),
      { numRuns: 500 },
    )
  })
})

describe('an undecidable path', () => {
  it('allows nothing and forbids what it may be', () => {
    const tests = [{ at: '/path', inside: [good] }]
    const args = { path: join(good, 'loop-a') }
    expect(testsHold(tests, args, 'every', undefined)).toBe(false)
    expect(testsHold(tests, args, 'any', undefined)).toBe(true)
  })

  it('includes pointers with too many values', () => {
    const args = { list: Array.from({ length: 10_001 }, () => 'x') }
    const tests = [{ at: '/list/*', equals: 'x' }]
    expect(testsHold(tests, args, 'every', undefined)).toBe(false)
    expect(testsHold(tests, args, 'any', undefined)).toBe(true)
  })
})

describe('patterns for similar calls', () => {
  it('are these arguments, this folder, this host, and any', () => {
    const args = { path: join(good, 'a.txt'), url: 'https://example.org/a?b', n: 1 }
    expect(argumentPatternsOf(args, undefined)).toEqual([
      { label: 'exactly these arguments', arguments: [{ at: '', equals: args }] },
      { label: `paths inside ${good}`, arguments: [{ at: '/path', inside: [good] }] },
      {
        label: 'addresses at https://example.org',
        arguments: [{ at: '/url', glob: 'https://example.org/*' }],
      },
      { label: 'any arguments' },
    ])
    expect(argumentPatternsOf({ path: good }, undefined)[1]?.label).toBe(`paths inside ${good}`)
    expect(argumentPatternsOf({}, undefined)).toEqual([{ label: 'any arguments' }])
  })

  it('are not offered if they would not match the call, or match too much', () => {
    const labels = (args: Record<string, unknown>) =>
      argumentPatternsOf(args, undefined).map(({ label }) => label)
    expect(labels({ path: '/nowhere' })).toEqual(['exactly these arguments', 'any arguments'])
    expect(labels({ url: 'https://a:b@example.org/' })).toEqual(['exactly these arguments', 'any arguments'])
    expect(labels({ url: 'https://EXAMPLE.org/' })).toEqual(['exactly these arguments', 'any arguments'])
    expect(labels({ text: 'x'.repeat(20_000) })).toEqual(['any arguments'])
    expect(labels({ paths: [join(good, 'a.txt'), join(good, 'b.txt')] })).toEqual([
      'exactly these arguments',
      `paths inside ${good}`,
      'any arguments',
    ])
  })

  it('always match the call they were made from', () => {
    const value = fc.oneof(
      fc.webUrl(),
      fc.constantFrom('/tmp/a', '/a/b/c', 'x', ''),
      fc.integer(),
      fc.array(fc.webUrl()),
    )
    fc.assert(
      fc.property(fc.dictionary(fc.string(), value, { maxKeys: 4 }), (args) => {
        for (const { arguments: tests = [] } of argumentPatternsOf(args, undefined)) {
          expect(testsHold(tests, args, 'every', undefined)).toBe(true)
        }
      }),
    )
  })
})
