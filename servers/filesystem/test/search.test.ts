import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parseExcludes, parseGlob } from '../src/search/glob.ts'
import { parsePattern } from '../src/search/pattern.ts'
import { clientOf, eras, errorOf, folderWith, textOf, textsOf } from './fixture.ts'

describe('glob patterns', () => {
  test.each([
    ['*.ts', 'a.ts', true],
    ['*.ts', 'src/a.ts', false],
    ['**/*.ts', 'a.ts', true],
    ['**/*.ts', 'src/deep/a.ts', true],
    ['src/**', 'src/deep/a.ts', true],
    ['src/**', 'src', false],
    ['**', 'a/b', true],
    ['src/**/test/*.ts', 'src/test/a.ts', true],
    ['src/**/test/*.ts', 'src/a/test/b/test/c.ts', true],
    ['src/**/test/*.ts', 'src/a/test/b/c.ts', false],
    ['a?c', 'abc', true],
    ['a?c', 'ac', false],
    ['[a-c]x', 'bx', true],
    ['[!a-c]x', 'bx', false],
    ['[]]x', ']x', true],
    ['[x', '[x', true],
    ['{a,b}.{js,ts}', 'b.ts', true],
    ['{a,{b,c}}d', 'cd', true],
    ['{a}', '{a}', true],
    ['a{,b}', 'a', true],
    ['\\*', '*', true],
    ['\\*', 'a', false],
    ['.*', '.env', true],
    ['*', '.env', true],
    ['*a*b*c', 'xxaxxbxxc', true],
    ['🎉?', '🎉🎉', true],
  ])('%s and %s', (pattern, path, expected) => {
    expect(parseGlob(pattern).matches(path)).toBe(expected)
  })

  test('that would take long in a backtracking engine are decided at once', () => {
    expect(parseGlob(`${'*a'.repeat(200)}b`).matches('a'.repeat(1000))).toBe(false)
    expect(parseGlob(`${'**/a/'.repeat(100)}b`).matches('a/'.repeat(500))).toBe(false)
    expect(() => parseGlob('{a,b}'.repeat(12))).toThrow('more than 200')
    expect(() => parseGlob('a'.repeat(1001))).toThrow('more than 1000')
  })

  test('exclude a name at any depth without *, and a path with it', () => {
    const excludes = parseExcludes(['node_modules', '*.log', 'a/b'])
    const paths = ['node_modules', 'x/node_modules/y', 'a.log', 'x/a.log', 'a/b/c', 'x/a/b', 'a']
    expect(paths.map(excludes)).toEqual([true, true, true, false, true, true, false])
  })
})

describe('line patterns', () => {
  const found = (
    pattern: string,
    line: string,
    options: { literal?: boolean; ignoreCase?: boolean } = {},
  ) => {
    const parsed = parsePattern(pattern, { literal: false, ignoreCase: false, ...options })
    const folded = parsed.fold(line)
    return parsed.required !== undefined && !folded.includes(parsed.required)
      ? undefined
      : parsed.find(folded)
  }

  test.each([
    ['fo+\\s+bar', 'a foo  bar', [2, 10]],
    ['^a', 'ba', undefined],
    ['colou?r', 'color', [0, 5]],
    ['ab{0,10}c', 'ac', [0, 2]],
    ['(?:foo|bar)baz', 'a barbaz', [2, 8]],
    ['foo|bar', 'bar', [0, 3]],
    ['x(?=yz)', 'xyz', [0, 1]],
    ['\\bword\\b', 'a word.', [2, 6]],
    ['a.b', 'a🎉b', [0, 4]],
    ['\\$x\\{', 'a $x{', [2, 5]],
  ])('%s in %s', (pattern, line, expected) => {
    expect(found(pattern, line)).toEqual(expected)
  })

  test('ignore case in letters, classes and escapes', () => {
    expect(found('Foo[A-C]+', 'xfOOabc', { ignoreCase: true })).toEqual([1, 7])
    expect(found('\\u0041\\x42', 'ab', { ignoreCase: true })).toEqual([0, 2])
    expect(found('\\S\\W', 'A-', { ignoreCase: true })).toEqual([0, 2])
    expect(found('STRASSE', 'Strasse', { ignoreCase: true, literal: true })).toEqual([0, 7])
  })

  test.each([
    ['(', 'Set literal'],
    ['(a)\\1', 'linear time'],
    ['(?<=a)b', 'linear time'],
    ['', 'empty'],
    ['a'.repeat(1001), 'more than 1000'],
  ])('%s is refused with the reason', (pattern, message) => {
    expect(() => found(pattern, '')).toThrow(message)
  })
})

describe.each(eras)('searching names on %s', (era) => {
  test('returns full paths, and follows no links', async () => {
    const folder = folderWith({ 'a.ts': '', 'src/b.ts': '', 'src/c.js': '', 'node_modules/d.ts': '' })
    const client = await clientOf(era, { directories: [folder] })
    const search = async (args: object): Promise<string[]> =>
      textOf(await client.call('search_files', { path: folder, ...args })).split('\n')
    expect(await search({ pattern: '*.ts' })).toEqual([join(folder, 'a.ts')])
    expect(await search({ pattern: '**/*.ts', excludePatterns: ['node_modules'] })).toEqual([
      join(folder, 'a.ts'),
      join(folder, 'src/b.ts'),
    ])
    expect(await search({ pattern: 'nothing' })).toEqual(['No matches found'])
  })

  test('reports progress, and ends when it is cancelled', async () => {
    const folder = folderWith(
      Object.fromEntries(Array.from({ length: 2000 }, (_, n) => [`d${n % 20}/f${n}`, ''])),
    )
    const client = await clientOf(era, { directories: [folder] })
    const progress: number[] = []
    const cancel = new AbortController()
    const call = client.call(
      'search_files',
      { path: folder, pattern: 'nothing' },
      {
        signal: cancel.signal,
        onProgress: (done: { progress: number }) => {
          progress.push(done.progress)
          cancel.abort()
        },
      },
    )
    await expect(call).rejects.toThrow()
    expect(progress[0]).toBeGreaterThanOrEqual(250)
  })
})

describe('searching content', () => {
  const open = (folder: string, options: object = {}) =>
    clientOf('2026-07-28', { directories: [folder], ...options })

  test('returns path, line and text of each match, with lines around it', async () => {
    const folder = folderWith({ 'src/a.ts': 'one\r\ntwo TODO\r\nthree\r\n', 'b.md': 'TODO' })
    const client = await open(folder)
    const result = await client.call('search_content', { path: folder, pattern: 'TO+DO', contextLines: 1 })
    expect(result.structuredContent).toMatchObject({
      matches: [
        { path: join(folder, 'b.md'), line: 1, column: 1, text: 'TODO', before: [], after: [] },
        {
          path: join(folder, 'src/a.ts'),
          line: 2,
          column: 5,
          text: 'two TODO',
          before: ['one'],
          after: ['three'],
        },
      ],
      files: 2,
      leftOut: 0,
      truncated: false,
    })
    expect(textOf(result).split('\n')).toContain(`${join(folder, 'src/a.ts')}:2: two TODO`)
    expect(textOf(result).split('\n')).toContain(`${join(folder, 'src/a.ts')}-3- three`)
  })

  test('of one file, of files by glob, literally, without excluded files', async () => {
    const folder = folderWith({ 'a.ts': 'x.*y', 'b.md': 'x.*y', 'out/c.ts': 'x.*y', 'd.ts': 'x  y' })
    const client = await open(folder)
    const paths = async (args: object): Promise<string[]> => {
      const { structuredContent } = await client.call('search_content', {
        path: folder,
        pattern: 'x.*y',
        ...args,
      })
      return (structuredContent as { matches: { path: string }[] }).matches.map(({ path }) =>
        path.slice(folder.length + 1),
      )
    }
    expect(await paths({ path: join(folder, 'a.ts') })).toEqual(['a.ts'])
    expect(await paths({ glob: '**/*.ts' })).toEqual(['a.ts', 'd.ts', 'out/c.ts'])
    expect(await paths({ literal: true, excludePatterns: ['out'] })).toEqual(['a.ts', 'b.md'])
  })

  test('excludes files named in .gitignore: of inner and outer directories, negated, anchored', async () => {
    const folder = folderWith({
      '.gitignore': '*.log\n/build\n!keep.log\n# comment\nsub/only.txt\n',
      'a.log': 'x',
      'keep.log': 'x',
      'build/a.txt': 'x',
      'sub/build/a.txt': 'x',
      'sub/only.txt': 'x',
      'sub/.gitignore': 'secret/\n!a.log\n',
      'sub/a.log': 'x',
      'sub/secret/a.txt': 'x',
      '.git/config': 'x',
    })
    const client = await open(folder)
    const paths = async (path: string): Promise<string[]> => {
      const args = { path, pattern: '^x$', respectGitignore: true }
      const { structuredContent } = await client.call('search_content', args)
      return (structuredContent as { matches: { path: string }[] }).matches.map((match) =>
        match.path.slice(folder.length + 1),
      )
    }
    expect(await paths(folder)).toEqual(['keep.log', 'sub/a.log', 'sub/build/a.txt'])
    expect(await paths(join(folder, 'sub'))).toEqual(['sub/a.log', 'sub/build/a.txt'])
  })

  test('of one file that cannot be searched fails with the reason', async () => {
    const folder = folderWith({ 'a.bin': new Uint8Array(10), 'b.txt': 'x'.repeat(200) })
    const client = await open(folder, { limits: { searchBytes: 100 } })
    const search = async (path: string): Promise<string> =>
      errorOf(await client.call('search_content', { path, pattern: 'x' }))
    expect(await search('a.bin')).toContain('a.bin is binary')
    expect(await search('b.txt')).toContain('b.txt is larger than 100 B, the limit of a search.')
  })

  test('of one file ends when the result is large enough', async () => {
    const folder = folderWith({ 'a.txt': `${'x'.repeat(480)}\n`.repeat(3_000) })
    const client = await open(folder, { limits: { matches: 1_000 } })
    const args = { path: 'a.txt', pattern: 'x', contextLines: 10 }
    const { content, structuredContent } = await client.call('search_content', args)
    expect(structuredContent).toMatchObject({ truncated: true })
    expect(JSON.stringify(content).length).toBeLessThan(500_000)
  })

  test('counts lines as an editor does: nothing follows a newline at the end', async () => {
    const folder = folderWith({ 'a.txt': 'one\n\ntwo\n' })
    const client = await open(folder)
    const search = (pattern: string) =>
      client.call('search_content', { path: 'a.txt', pattern, contextLines: 1 })
    expect((await search('^$')).structuredContent).toMatchObject({ matches: [{ line: 2 }] })
    expect((await search('two')).structuredContent).toMatchObject({ matches: [{ before: [''], after: [] }] })
  })

  test('counts binary and large files, and reports lines that were searched in part', async () => {
    const folder = folderWith({
      'a.bin': new Uint8Array(10),
      'b.txt': 'x'.repeat(200),
      'c.txt': `${'y'.repeat(80)}x`,
    })
    const client = await open(folder, { limits: { searchBytes: 100, lineChars: 50 } })
    const result = await client.call('search_content', { path: folder, pattern: 'x' })
    expect(result.structuredContent).toMatchObject({ matches: [], files: 1, leftOut: 2 })
    expect(textsOf(result).slice(1)).toEqual([
      expect.stringContaining('2 files were left out'),
      expect.stringContaining('more than 50 characters'),
    ])
  })

  test('ends at the limit of matches and reports that', async () => {
    const folder = folderWith({ 'a.txt': 'x\n'.repeat(100), 'b.txt': 'x' })
    const client = await open(folder, { limits: { matches: 20 } })
    for (const [args, count] of [
      [{}, 20],
      [{ maxMatches: 3 }, 3],
    ] as const) {
      const result = await client.call('search_content', { path: folder, pattern: 'x', ...args })
      expect((result.structuredContent as { matches: unknown[] }).matches).toHaveLength(count)
      expect(result.structuredContent).toMatchObject({ truncated: true })
      expect(textsOf(result)[1]).toContain('there are more matches')
    }
  })

  test('is not slowed down by a regular expression that backtracks in other engines', async () => {
    const folder = folderWith({ 'a.txt': `${'a'.repeat(9000)}!` })
    const client = await open(folder)
    const result = await client.call('search_content', { path: folder, pattern: '^(a+)+$' })
    expect(textOf(result)).toBe('No matches found')
    expect(errorOf(await client.call('search_content', { path: folder, pattern: '(a)\\1' }))).toContain(
      'linear time',
    )
  })

  test('returns its matches after the time limit', async () => {
    const folder = folderWith(
      Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`${n}.txt`, 'x\n'.repeat(100)])),
    )
    const client = await open(folder, { limits: { searchMs: 1 } })
    const result = await client.call('search_content', { path: folder, pattern: 'nothing' })
    expect(result.structuredContent).toMatchObject({ truncated: true })
    expect(textsOf(result).join()).toContain('time limit')
  })
})
