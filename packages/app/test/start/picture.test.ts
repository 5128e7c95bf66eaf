import picocolors from 'picocolors'
import { expect, test } from 'vitest'
import { transcriptPicture } from '../../src/start/picture.ts'
import { createTranscript } from '../../src/start/transcript.ts'

function recorded(columns?: number): { printed: string; svg: string } {
  let printed = ''
  const write = (text: string): void => {
    printed += text
  }
  const transcript = createTranscript(write, picocolors.createColors(false), columns)
  transcript.heading('1. Begin')
  transcript.say('person', 'Person', `Fly <me> & "you"\u001b[31m ${'far '.repeat(40)}`)
  transcript.say('server', 'travel', 'Booked.', 'good')
  return { printed, svg: transcriptPicture(transcript.lines, 'npm start') }
}

test('a transcript names each speaker once and wraps the text', () => {
  const lines = recorded().printed.split('\n')
  expect(lines[0]).toBe('1. Begin')
  expect(lines[1]).toMatch(/^Person {6}Fly <me> & "you" far far/)
  expect(lines[2]).toMatch(/^ {12}far/)
  expect(lines.at(-2)).toBe('travel      Booked.')
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(96)
})

test.each([
  [40, 40],
  [10, 32],
  [200, 96],
])('a transcript on a terminal of %i columns uses at most %i of them', (columns, most) => {
  const lines = recorded(columns).printed.split('\n')
  const widest = Math.max(...lines.map((line) => line.length))
  expect(widest).toBeLessThanOrEqual(most)
  expect(widest).toBeGreaterThan(most - 12)
})

test('a picture is well-formed, contains every word, and is self-contained', () => {
  const { svg } = recorded()
  expect(svg.match(/<text/g)?.length).toBe(svg.match(/<\/text>/g)?.length)
  expect(svg).toContain('Fly &lt;me&gt; &amp; &quot;you&quot; far')
  expect(svg).toContain('>Booked.</text>')
  expect(svg).not.toMatch(/<script|href|@import|url\(/)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for
  expect(svg).not.toMatch(/[\u0000-\u0008\u000b-\u001f]/)
})
