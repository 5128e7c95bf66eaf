import { stripVTControlCharacters } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createFlow, truncate, wrapText } from '../../src/output/flow.ts'
import { widthOf } from '../../src/output/width.ts'

const words = fc
  .array(
    fc.oneof(
      fc.constantFrom(' ', '  ', '\n', '```\n', '- ', '1. ', '漢字', '👩‍💻', '\u001b[31mred\u001b[39m'),
      fc.stringMatching(/^[a-z]{1,30}$/),
    ),
    { maxLength: 60 },
  )
  .map((parts) => parts.join(''))

describe('streamed text', () => {
  test('fits the width, is indented, and loses nothing but spaces', () => {
    fc.assert(
      fc.property(words, fc.integer({ min: 14, max: 90 }), fc.constantFrom(0, 2), (text, columns, indent) => {
        const lines = wrapText(text, columns, indent).split('\n')
        for (const line of lines) {
          expect(widthOf(stripVTControlCharacters(line))).toBeLessThanOrEqual(columns)
          if (line !== '') expect(line.startsWith(' '.repeat(indent))).toBe(true)
        }
        expect(lines.join('').replaceAll(' ', '')).toBe(text.replace(/[ \n]/g, ''))
      }),
    )
  })

  test('is independent of chunk boundaries', () => {
    fc.assert(
      fc.property(fc.array(fc.stringMatching(/^[a-z \n]{0,8}$/), { maxLength: 20 }), (pieces) => {
        let written = ''
        const write = (text: string): void => {
          written += text
        }
        const flow = createFlow({ write, columns: () => 20 })
        for (const piece of pieces) flow.push(piece)
        flow.end()
        expect(written).toBe(wrapText(pieces.join(''), 20))
      }),
    )
  })

  test('breaks at words, indents lists, and keeps code blocks', () => {
    const text = 'one two three four\n- five six seven eight\n```\nnine   ten eleven twelve\n```'
    expect(wrapText(text, 14).split('\n')).toEqual([
      ...['one two three', 'four', '- five six', '  seven eight'],
      ...['```', 'nine   ten ele', 'ven twelve', '```'],
    ])
  })

  test('is distinguishable from other lines when it continues', () => {
    expect(wrapText('one two three fourteenletters', 10, 0, 2).split('\n')).toEqual([
      ...['one two', '  three', '  fourteen', '  letters'],
    ])
  })

  test('adapts when the terminal is resized', () => {
    let columns = 30
    let written = ''
    const write = (text: string): void => {
      written += text
    }
    const flow = createFlow({ write, columns: () => columns })
    flow.push('a line that is nearly thirty wide and ')
    columns = 12
    flow.push('another that is narrow ')
    flow.end()
    expect(written.split('\n')).toEqual([
      'a line that is nearly thirty',
      'wide and',
      'another that',
      'is narrow',
    ])
  })

  test('is cut to one line where it must fit', () => {
    expect(truncate('abcdef', 4)).toBe('abc…')
    expect(truncate('漢字漢字', 5)).toBe('漢字…')
    expect(truncate('abc', 3)).toBe('abc')
  })
})
