import picocolors from 'picocolors'
import { expect, test } from 'vitest'
import type { CallEnd, CallEvent } from '../../src/chat/conversation-view.ts'
import type { ChatEvent, ChatSurface } from '../../src/chat/surface.ts'
import { createTurnView, writeLateResult } from '../../src/chat/view.ts'

const id = '7244c9a7-0000-4000-8000-000000000000'
const start: CallEvent = {
  type: 'start',
  id: '1',
  number: 1,
  name: 'shop__buy',
  arguments: { item: 'x'.repeat(80) },
}
const later: CallEvent = { type: 'later', id: '1', name: 'shop__buy', item: { id } }
const ended: CallEnd = {
  number: 1,
  ...{ type: 'end', id: '1', name: 'shop__buy', denied: false, activity: 4 },
  result: { content: [{ type: 'text', text: 'Bought\u001b[2J.' }] },
}

/** A surface that keeps what it is given. */
function surface(more: Partial<ChatSurface> = {}) {
  const written: string[] = []
  const made: ChatSurface = {
    palette: picocolors.createColors(false),
    columns: () => 60,
    write: (text) => written.push(text),
    readLine: async () => undefined,
    startTurn: () => ({ signal: new AbortController().signal, done: () => {} }),
    ...more,
  }
  return { surface: made, written }
}

test('a call with a deferred question is one line that fits and says how to answer it, and so is its result', () => {
  const { surface: shown, written } = surface({ live: (line, over) => written.push(over ? `${line}\n` : '') })
  const view = createTurnView(shown, 'test', () => 0, new AbortController().signal)
  view.call(start)
  view.call(later)
  writeLateResult(ended, shown)
  const lines = written.join('').split('\n')
  expect(lines[0]).toMatch(/^◇ \[1\] shop__buy \{"item":… {2}waits for you: \/respond 7244c9a7$/)
  expect(lines[0]?.length).toBeLessThanOrEqual(60)
  expect(lines.slice(1, 3)).toEqual([
    '✓ [1] shop__buy  Bought.',
    '  The model gets it with your next message.',
  ])
})

test('a program receives the events of a deferred call and of its result', () => {
  const events: ChatEvent[] = []
  const { surface: recorded } = surface({ emit: (event) => events.push(event) })
  const view = createTurnView(recorded, 'test', () => 0, new AbortController().signal)
  view.call(start)
  view.call(later)
  writeLateResult(ended, recorded)
  expect(events.slice(1)).toEqual([
    { type: 'later', id: '1', name: 'shop__buy', question: id },
    { type: 'result', id: '1', name: 'shop__buy', outcome: 'ok', content: ended.result.content, activity: 4 },
  ])
})
