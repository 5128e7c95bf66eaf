import fc from 'fast-check'
import picocolors from 'picocolors'
import { describe, expect, test } from 'vitest'
import {
  blockText,
  formatBytes,
  prettyJson,
  printedResult,
  promptResult,
  readResult,
  toolResult,
} from '../../src/output/content.ts'
import { paletteFor } from '../../src/output/palette.ts'
import { table } from '../../src/output/table.ts'
import { widthOf, wrap } from '../../src/output/width.ts'

const palette = picocolors.createColors(false)

describe('a table', () => {
  test('aligns its columns, also with wide characters', () => {
    expect(
      table(
        ['NAME', 'WHAT'],
        [
          ['a', 'x'],
          ['東京', 'y'],
          ['long name', 'z'],
        ],
        { palette },
      ),
    ).toBe(['NAME       WHAT', 'a          x', '東京       y', 'long name  z'].join('\n'))
  })

  test('wraps its last column to the terminal width', () => {
    expect(table(['A', 'B'], [['a', 'one two three four five six']], { palette, columns: 24 })).toBe(
      ['A  B', 'a  one two three four', '   five six'].join('\n'),
    )
  })

  test('wraps its widest columns if the last alone is not enough', () => {
    const row = ['args[0]', 'one two three four', 'servers.travel.args[0]']
    expect(table(['FIELD', 'VALUE', 'THERE'], [row], { palette, columns: 36 })).toBe(
      [
        'FIELD    VALUE         THERE',
        'args[0]  one two       servers.trav',
        '         three four    el.args[0]',
      ].join('\n'),
    )
  })

  test('prints rows as lists if columns would become too narrow', () => {
    const rows = [
      ['a long name', 'https://example.com/mcp', 'three words more'],
      ['another one', '', 'three'],
    ]
    expect(table(['NAME', 'WHERE', 'WHAT'], rows, { palette, columns: 30 })).toBe(
      [
        'NAME   a long name',
        'WHERE  https://example.com/mcp',
        'WHAT   three words more',
        '',
        'NAME   another one',
        'WHAT   three',
      ].join('\n'),
    )
  })

  test('leaves out empty columns only if the terminal is narrow', () => {
    const rows = [
      ['a', '', 'one two three'],
      ['b', '', 'four'],
    ]
    const heads = ['NAME', 'RULE', 'WHAT']
    expect(table(heads, rows, { palette, columns: 20 })).toBe(
      ['NAME  WHAT', 'a     one two three', 'b     four'].join('\n'),
    )
    expect(table(heads, rows, { palette, columns: 40 })).toContain('NAME  RULE  WHAT')
    expect(table(heads, rows, { palette })).toContain('NAME  RULE  WHAT')
  })

  test('fits the terminal, whatever its content, and loses nothing but spaces', () => {
    const cell = fc.string({ maxLength: 60 }).map((text) => text.replaceAll(/\s/g, ' '))
    const rows = fc.array(fc.array(cell, { minLength: 4, maxLength: 4 }), { minLength: 1, maxLength: 4 })
    fc.assert(
      fc.property(rows, fc.integer({ min: 20, max: 200 }), (all, columns) => {
        const text = table(['A', 'B', 'C', 'D'], all, { palette, columns })
        for (const line of text.split('\n')) expect(widthOf(line)).toBeLessThanOrEqual(columns)
        const letters = (texts: string[]): string[] => [...texts.join('').replaceAll(/\s/g, '')].sort()
        const shown = letters([text])
        for (const letter of new Set(letters(all.flat()))) {
          const count = (among: string[]): number => among.filter((one) => one === letter).length
          expect(count(shown)).toBeGreaterThanOrEqual(count(letters(all.flat())))
        }
      }),
    )
  })
})

describe('wrapping', () => {
  test('never exceeds the width and loses nothing but spaces', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 200 }), fc.integer({ min: 4, max: 40 }), (text, columns) => {
        const lines = wrap(text, columns)
        for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(columns)
        expect(lines.join('').replaceAll(/\s/g, '')).toBe(text.replaceAll(/\s/g, ''))
      }),
    )
  })
})

describe('content', () => {
  test('prints text as it is, and bytes as type and size', () => {
    expect(blockText({ type: 'text', text: 'a\u001b[31mb' }, palette)).toBe('ab')
    expect(blockText({ type: 'image', data: 'A'.repeat(16_400), mimeType: 'image/png' }, palette)).toBe(
      '[image/png, 12.3 kB]',
    )
    expect(blockText({ type: 'audio', data: 'AAA=', mimeType: 'audio/wav' }, palette)).toBe(
      '[audio/wav, 2 B]',
    )
    expect(
      blockText(
        { type: 'resource_link', uri: 'a://b', name: 'b', mimeType: 'text/plain', size: 1234 },
        palette,
      ),
    ).toBe('a://b  b (text/plain, 1.2 kB)')
    expect(blockText({ type: 'resource', resource: { uri: 'a://b', blob: 'AAAA' } }, palette)).toBe(
      '── a://b\n[application/octet-stream, 3 B]',
    )
    expect([formatBytes(999), formatBytes(1000), formatBytes(2_000_000)]).toEqual([
      '999 B',
      '1.0 kB',
      '2.0 MB',
    ])
  })

  test('of a tool prints structured content once', () => {
    const structuredContent = { a: 1 }
    expect(toolResult({ content: [{ type: 'text', text: '{"a":1}' }], structuredContent }, palette)).toBe(
      '{\n  "a": 1\n}',
    )
    const text = { content: [{ type: 'text' as const, text: 'a.txt\nb.txt' }] }
    expect(toolResult({ ...text, structuredContent: { content: 'a.txt\nb.txt' } }, palette)).toBe(
      'a.txt\nb.txt',
    )
    expect(toolResult({ content: [{ type: 'text', text: 'One.' }], structuredContent }, palette)).toBe(
      'One.\n{\n  "a": 1\n}',
    )
    expect(printedResult({ content: [{ type: 'text', text: 'One.' }], structuredContent }, palette)).toBe(
      'One.',
    )
    expect(printedResult({ content: [], structuredContent }, palette)).toBe(prettyJson(structuredContent))
    expect(toolResult({ content: [] }, palette)).toBe('(no content)')
  })

  test('of a resource with one text is that text alone', () => {
    expect(readResult({ contents: [{ uri: 'a://b', text: 'x' }] }, palette)).toBe('x')
    expect(
      readResult(
        {
          contents: [
            { uri: 'a://b', text: 'x' },
            { uri: 'a://c', text: 'y' },
          ],
        },
        palette,
      ),
    ).toBe('── a://b\nx\n── a://c\ny')
  })

  test('of a prompt has roles', () => {
    expect(
      promptResult(
        { description: 'd', messages: [{ role: 'user', content: { type: 'text', text: 'hi' } }] },
        palette,
      ),
    ).toBe('d\nuser: hi')
  })
})

test('colours are used only on terminals, and never if NO_COLOR is set', () => {
  const coloured = (stream: { isTTY?: boolean }, env: NodeJS.ProcessEnv): boolean =>
    paletteFor(stream, env).red('x') !== 'x'
  expect(coloured({ isTTY: true }, {})).toBe(true)
  expect(coloured({}, {})).toBe(false)
  expect(coloured({ isTTY: true }, { NO_COLOR: '1' })).toBe(false)
  expect(coloured({ isTTY: true }, { TERM: 'dumb' })).toBe(false)
  expect(coloured({}, { FORCE_COLOR: '1' })).toBe(true)
})
