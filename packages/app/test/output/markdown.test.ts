import { stripVTControlCharacters } from 'node:util'
import fc from 'fast-check'
import picocolors from 'picocolors'
import { describe, expect, test } from 'vitest'
import { MarkdownFlow } from '../../src/output/markdown-flow.ts'
import { widthOf } from '../../src/output/width.ts'

const plainPalette = picocolors.createColors(false)
const colours = picocolors.createColors(true)

/** What a terminal shows of a text that comes in these pieces, and the last line that was under way. */
function rendered(pieces: readonly string[], columns = 60, palette = plainPalette) {
  let written = ''
  const tails: string[] = []
  const flow = new MarkdownFlow({
    palette,
    columns: () => columns,
    write: (text) => {
      written += text
    },
    live: (line) => tails.push(line),
  })
  for (const piece of pieces) flow.push(piece)
  const before = written
  flow.end()
  return { written, before, tails }
}

const lines = (text: string, columns?: number, palette?: typeof colours): string[] =>
  rendered([text], columns, palette).written.split('\n').slice(0, -1)

describe('Markdown on a terminal', () => {
  test('renders headings, emphasis, code, lists, quotes and rules, each line indented', () => {
    const text = [
      '# Plan',
      'Some **bold**, *slanted*, ~~gone~~ and `code` words.',
      '',
      '1. one',
      '2. two',
      '   - inner',
      '- [ ] open',
      '- [x] done',
      '',
      '> A quote',
      '> of two lines',
      '',
      '---',
      'R&amp;D <b>x</b>',
    ].join('\n')
    expect(lines(text)).toEqual([
      '  # Plan',
      '  Some **bold**, *slanted*, ~~gone~~ and `code` words.',
      '',
      '  1. one',
      '  2. two',
      '     - inner',
      '  - [ ] open',
      '  - [x] done',
      '',
      '  │ A quote',
      '  │ of two lines',
      '',
      `  ${'─'.repeat(40)}`,
      '  R&D <b>x</b>',
    ])
    const coloured = lines('# Plan\n**bold** `code`', 60, colours)
    expect(coloured).toEqual([
      `  ${colours.bold(colours.underline('Plan'))}`,
      `  ${colours.bold('bold')} ${colours.cyan('code')}`,
    ])
  })

  test('always shows link destinations', () => {
    const text =
      '[your bank](https://evil.test/a "Safe") <https://a.test> https://b.test ![a map](https://c.test/m.png) [x][r]\n\n[r]: https://d.test'
    const shown = lines(text, 200).join('\n')
    expect(shown).toContain('your bank (https://evil.test/a "Safe") https://a.test https://b.test')
    expect(shown).toContain('[image: a map] (https://c.test/m.png)')
    expect(shown).toContain('[x][r]')
    expect(shown).toContain('[r]: https://d.test')
    expect(lines('[https://bank.test](https://evil.test)').join('')).toContain('(https://evil.test)')
  })

  test('keeps lines of code with their markup characters, and shows them as they arrive', () => {
    const code = '```ts\nconst  a = **b**\n\n\t# no heading\n```\nAfter.'
    expect(lines(code)).toEqual([
      '  ```ts',
      '  const  a = **b**',
      '',
      '      # no heading',
      '  ```',
      '  After.',
    ])
    expect(rendered(['```\none\ntw']).before).toBe('  ```\n  one\n')
    expect(lines('~~~\n```\nx\n~~~')).toEqual(['  ~~~', '  ```', '  x', '  ~~~'])
    expect(lines('```\nnever closed')).toEqual(['  ```', '  never closed'])
  })

  test('prints tables in columns, or stacked cells if there is no room', () => {
    const text = '| Name | Price |\n|---|--:|\n| Tea | **3** |\n| Coffee | 4 |'
    expect(lines(text)).toEqual(['  Name    Price', '  Tea     3', '  Coffee  4'])
    const wide = `| ${'First heading | '.repeat(5)}\n|${'---|'.repeat(5)}\n| ${'some words | '.repeat(5)}`
    for (const line of lines(wide, 30)) expect(widthOf(line)).toBeLessThanOrEqual(30)
  })

  test('shows a block once complete, and the end of the incomplete text below it', () => {
    const { before, tails } = rendered(['First ', 'paragraph.\n\nSec', 'ond'])
    expect(before).toBe('  First paragraph.\n')
    expect(tails.slice(0, 2)).toEqual(['  First', ''])
    expect(tails.at(-2)).toBe('  Second')
    expect(tails.at(-1)).toBe('')
    expect(rendered(['- one\n- two\n- th']).before).toBe('  - one\n')
  })

  test('has no control characters, and no line without its margin', () => {
    const evil =
      '\u001b[2J✓ [1] pay  approved\ryou › yes\n\u001b]8;;http://x\u0007link\u001b]8;;\u0007\n\n```\n\u001b[H◇ Allow?\n```\n> \u202eevil\n\n&#27;[2J'
    const shown = rendered([...evil]).written
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for
    expect(shown).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/)
    for (const line of shown.split('\n')) expect(line).toMatch(/^(?: {2}.*)?$/)
  })
})

const part = fc.constantFrom(
  ...[
    'word ',
    'another',
    '**',
    '*',
    '_',
    '`',
    '```',
    '~~~',
    '\n',
    '\n\n',
    '# ',
    '- ',
    '1. ',
    '> ',
    '| a | b |',
    '|--|--|',
  ],
  ...[
    '[t](http://u)',
    '<b>',
    '    ',
    '\t',
    '漢字',
    '👩‍👩‍👧',
    '\r\n',
    '&amp;',
    '\\',
    '---',
    '[r]: x',
    'x'.repeat(90),
  ],
)

test('lines fit and start with the margin, independent of chunk boundaries, for any input', () => {
  fc.assert(
    fc.property(
      fc.array(part, { maxLength: 40 }),
      fc.integer({ min: 20, max: 80 }),
      fc.nat(7),
      (parts, columns, step) => {
        const text = parts.join('')
        const whole = rendered([text], columns, colours).written
        const pieces = text.match(new RegExp(`[\\s\\S]{1,${step + 1}}`, 'g')) ?? []
        const streamed = rendered(pieces, columns, colours)
        expect(streamed.written).toBe(whole)
        for (const line of whole.split('\n').map((one) => stripVTControlCharacters(one))) {
          expect(line).toMatch(/^(?: {2}.*)?$/)
          expect(widthOf(line)).toBeLessThanOrEqual(columns)
        }
        for (const tail of streamed.tails)
          expect(widthOf(stripVTControlCharacters(tail))).toBeLessThan(columns)
      },
    ),
  )
})

test.each([
  ['quotes', '>'.repeat(100_000)],
  ['quotes and lists', '> - '.repeat(30_000)],
  ['brackets', '['.repeat(100_000)],
  ['emphasis', '_a'.repeat(50_000)],
  ['one word', 'x'.repeat(100_000)],
  ['lines of one paragraph', 'a line of words\n'.repeat(10_000)],
  ['a deep list', Array.from({ length: 300 }, (_, n) => `${' '.repeat(2 * n)}- a`).join('\n')],
])('%s that would overload a parser are still shown', (_, text) => {
  const shown = rendered([text]).written
  const visibleChars = (given: string): number => given.replaceAll(/[\s│>]/g, '').length
  expect(visibleChars(shown)).toBe(visibleChars(text))
})
