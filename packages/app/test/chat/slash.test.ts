import { describe, expect, test } from 'vitest'
import { parseLine, splitWords } from '../../src/chat/slash.ts'

test.each([
  ['', { kind: 'empty' }],
  ['  ', { kind: 'empty' }],
  ['hello /there', { kind: 'words', text: 'hello /there' }],
  ['//etc/hosts', { kind: 'words', text: '/etc/hosts' }],
  ['/help', { kind: 'command', name: 'help', words: [] }],
  [
    '/travel.plan-vacation destination="Rio de Janeiro" days=7',
    { kind: 'command', name: 'travel.plan-vacation', words: ['destination=Rio de Janeiro', 'days=7'] },
  ],
])('%s is parsed', (line, expected) => {
  expect(parseLine(line)).toEqual(expected)
})

describe('words', () => {
  test.each([
    ['a  b', ['a', 'b']],
    [`a='b c' d`, ['a=b c', 'd']],
    ['a=""', ['a=']],
    ['""', ['']],
    ['a\\ b', ['a b']],
    ['"a\\"b"', ['a"b']],
    [`'{"x":"y z"}'`, ['{"x":"y z"}']],
  ])('%s', (text, words) => {
    expect(splitWords(text)).toEqual(words)
  })

  test('an unclosed quote is an error', () => {
    expect(() => splitWords('a "b')).toThrow('is not closed')
  })
})
