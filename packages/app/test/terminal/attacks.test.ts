import headless from '@xterm/headless'
import picocolors from 'picocolors'
import { expect, test } from 'vitest'
import { attacks } from '../../../host/test/attacks/attacks.ts'
import { noticeText } from '../../src/chat/notices.ts'
import type { ChatSurface } from '../../src/chat/surface.ts'
import { createTurnView } from '../../src/chat/view.ts'
import { wrapText } from '../../src/output/flow.ts'
import { MarkdownFlow } from '../../src/output/markdown-flow.ts'

const columns = 60
const own = '\r\u001b[K'
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for
const control = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/
const unseen = /[\u200b-\u200f\u2028-\u202e\u2060-\u2069\u{e0000}-\u{e007f}]/u

/** Everything that an attack writes anywhere. */
function texts(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(texts) : []
}

/** A face that draws into a terminal and keeps what was written. */
function screen() {
  const terminal = new headless.Terminal({
    cols: columns,
    rows: 30,
    scrollback: 9_000,
    allowProposedApi: true,
  })
  let written = ''
  let isLive = false
  const palette = picocolors.createColors(false)
  const write = (text: string): void => {
    written += text
  }
  const surface: ChatSurface = {
    palette,
    columns: () => columns,
    markdown: () => new MarkdownFlow({ palette, columns: () => columns, write: write, live: () => {} }),
    write: write,
    live(line, over) {
      write(`${isLive ? own : ''}${line}${over ? '\n' : ''}`)
      isLive = !over
    },
    readLine: async () => undefined,
    startTurn: () => ({ signal: new AbortController().signal, done: () => {} }),
  }
  const lines = async (): Promise<string[]> => {
    await new Promise<void>((resolve) => terminal.write(written.replaceAll('\n', '\r\n'), resolve))
    return Array.from(
      { length: terminal.buffer.active.length },
      (_, n) => terminal.buffer.active.getLine(n)?.translateToString(true) ?? '',
    )
  }
  return { surface, written: () => written, lines }
}

test.each(attacks('http://canary.test'))('$name: spoofs nothing on the screen', async ({ hostile }) => {
  const { surface, written, lines } = screen()
  surface.write('you › Hello\n')
  const view = createTurnView(surface, 'test', () => 0, new AbortController().signal)
  for (const [n, text] of texts(hostile).entries()) {
    view.text(text)
    view.call({ type: 'start', id: `${n}`, name: 'hostile__notes', arguments: { [text]: text } })
    const content = [
      { type: 'text' as const, text },
      { type: 'resource_link' as const, uri: `memo://${text}`, name: text, mimeType: text },
    ]
    view.call({
      type: 'end',
      id: `${n}`,
      name: 'hostile__notes',
      result: { content, isError: n % 2 === 0 },
      denied: n % 3 === 0,
    })
    const output = [
      noticeText({ type: 'log', server: 'hostile', level: 'error', data: text }),
      noticeText({ type: 'progress', name: text, progress: 1, message: text }),
      noticeText({ type: 'resource-updated', server: 'hostile', uri: text }),
    ]
    for (const one of output) if (one !== undefined) surface.write(`${wrapText(one, columns, 0, 2)}\n`)
  }
  view.end(undefined)
  // Emoji may be joined by an invisible character.
  const bytes = written()
    .replaceAll(own, '')
    .replace(/\p{Extended_Pictographic}\ufe0f?(?:\u200d\p{Extended_Pictographic}\ufe0f?)*/gu, '')
  expect(control.exec(bytes)?.index).toBeUndefined()
  expect(unseen.exec(bytes)?.index).toBeUndefined()
  const shown = await lines()
  expect(shown[0]).toBe('you › Hello')
  // What looks like the program's own words is the program's own.
  const claims = shown.slice(1).filter((line) => /^(you ›|[✓✗◌→+!] |Jackfield|[◇◆│└])/.test(line))
  expect(claims.filter((line) => !/^[✓✗] hostile__notes /.test(line))).toEqual([])
})
