import { PassThrough } from 'node:stream'
import { expect, onTestFinished, test, vi } from 'vitest'
import { LineSource } from '../../src/jsonrpc/line-source.ts'

/** A source whose every line takes 1 ms of the clock. */
function slowLines(onLine: (text: string, source: LineSource) => void = () => {}) {
  let clock = 0
  const now = vi.spyOn(performance, 'now').mockImplementation(() => clock)
  onTestFinished(() => now.mockRestore())
  const input = new PassThrough({ highWaterMark: 1_000_000 })
  const lines: string[] = []
  let ended = false
  const source: LineSource = new LineSource(input, {
    onLine: (text) => {
      clock++
      lines.push(text)
      onLine(text, source)
    },
    onTooLong: () => {},
    onNotUtf8: () => {},
    onEnd: () => {
      ended = true
    },
  })
  return { input, source, lines, hasEnded: () => ended }
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))
/** Ten times more than fits into a chunk of 16 kB. */
const many = Array.from({ length: 16_000 }, (_, n) => `line ${n} of it`)

test('yields to the event loop while one chunk has many lines, and loses none', async () => {
  const { input, lines, hasEnded } = slowLines()
  input.end(`${many.join('\n')}\nthe last`)
  const seen: number[] = []
  while (!hasEnded()) {
    await turn()
    if (lines.length > 0 && lines.length < many.length) expect(input.isPaused()).toBe(true)
    seen.push(lines.length)
  }
  expect(lines).toEqual([...many, 'the last'])
  const steps = seen.map((count, at) => count - (seen[at - 1] ?? 0))
  expect(Math.max(...steps)).toBeLessThan(many.length / 2)
})

test('processes a chunk within one time slice in one turn', async () => {
  const { input, lines } = slowLines()
  input.write('1\n2\n3\n')
  await turn()
  expect(lines).toEqual(['1', '2', '3'])
  expect(input.isPaused()).toBe(false)
})

test('counts the time of many small chunks together', async () => {
  const { input, lines } = slowLines()
  for (let n = 0; n < 50; n++) input.write(`${n}\n`)
  await turn()
  expect(lines.length).toBeLessThanOrEqual(20)
  while (lines.length < 50) await turn()
  await turn()
  expect(input.isPaused()).toBe(false)
})

test('reads no further than its line once it is paused, and continues when resumed', async () => {
  const { input, source, lines } = slowLines((text, source) => {
    if (text === many[10]) source.pause()
  })
  input.write(`${many.join('\n')}\n`)
  await turn()
  const before = lines.length
  expect(before).toBeLessThan(2000)
  for (let n = 0; n < 10; n++) await turn()
  expect(lines.length).toBe(before)
  source.resume()
  while (lines.length < many.length) await turn()
  expect(lines).toEqual(many)
})

test('delivers nothing more once stopped, and all received lines at once when drained', async () => {
  const stopped = slowLines((text, source) => {
    if (text === many[10]) source.stop()
  })
  stopped.input.end(`${many.join('\n')}\n`)
  while (!stopped.hasEnded()) await turn()
  expect(stopped.lines.length).toBeLessThan(2000)

  const drained = slowLines()
  drained.input.write(`${many.join('\n')}\n`)
  await turn()
  drained.source.drain()
  expect(drained.lines).toEqual(many)
})
