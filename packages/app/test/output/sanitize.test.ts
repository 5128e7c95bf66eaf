import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { oneLine, plain } from '../../src/output/sanitize.ts'

describe('text from a server', () => {
  test.each([
    ['colours', '\u001b[31mred\u001b[0m', 'red'],
    ['cursor movements', 'a\u001b[2J\u001b[Hb', 'ab'],
    ['a window title', '\u001b]0;owned\u0007x', 'x'],
    ['a link', '\u001b]8;;https://evil.example\u0007text\u001b]8;;\u0007', 'text'],
    ['a bare escape', 'a\u001bb', 'ab'],
    ['one-byte sequences', 'a\u009b31mb', 'ab'],
    ['a bell and a backspace', 'a\u0007\u0008b', 'ab'],
    ['a carriage return that would overwrite the line', 'safe\rEVIL', 'safe\nEVIL'],
    ['turned text', 'abc\u202edcba', 'abc⟦U+202E⟧dcba'],
    ['invisible tags', 'a\u{e0041}b', 'a⟦U+E0041⟧b'],
    ['zero-width spaces', 'pay\u200bpal', 'pay⟦U+200B⟧pal'],
  ])('removes or shows %s', (_, given, safe) => {
    expect(plain(given)).toBe(safe)
  })

  test('keeps line feeds, tabs, accents, emoji and other alphabets', () => {
    const text = 'Zürich\n\tмир 東京 👩‍👩‍👧 é'
    expect(plain(text)).toBe(text)
  })

  test('never has a control character', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for
        expect(plain(text)).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/)
      }),
    )
  })

  test('on one line is cut with an ellipsis', () => {
    expect(oneLine(' a\n  b\tc ')).toBe('a b c')
    expect(oneLine('abcdef', 4)).toBe('abc…')
    expect(oneLine('abcd', 4)).toBe('abcd')
  })
})
