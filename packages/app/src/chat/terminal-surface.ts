import { stripVTControlCharacters } from 'node:util'
import type { Io } from '../cli/io.ts'
import type { ScreenKey } from '../forms/screen.ts'
import type { MarkdownFlow } from '../output/markdown-flow.ts'
import { paletteFor } from '../output/palette.ts'
import { oneLine, plain } from '../output/sanitize.ts'
import { cleanPaste, readKeys } from '../surface/read-keys.ts'
import { InputEditor } from './input-editor.ts'
import type { ChatSurface, ReadOptions } from './surface.ts'
import type { TerminalLock } from './terminal-lock.ts'
import { type InputView, TerminalOutput } from './terminal-output.ts'

/** A text being typed, and how it is resolved. */
interface Typing {
  editor: InputEditor
  prompt: string
  complete?: ReadOptions['complete']
  suggestion?: string
  /** Typed while a turn runs: hidden while it is empty. */
  ahead: boolean
  submit(text: string): void
  interrupt(): void
  /** Esc was pressed. */
  escape?(): void
  end(): void
}

export interface TerminalChatOptions {
  /** Renders Markdown; without it, text is printed as written. */
  markdown?: typeof MarkdownFlow
  /** Shows a view between questions; without it, there are no selection lists. */
  screen?: NonNullable<ChatSurface['screen']>
  /** Called when Ctrl+C is pressed again while something runs that reads no input. */
  exit?: () => void
  /** Inputs of earlier conversations, oldest first. */
  earlier?: () => readonly string[]
}

const exitHint = '(To quit: Ctrl+C again, Ctrl+D or /quit)\n'
const maxHistory = 1_000
const maxQueuedRows = 4
/** Time after a key press during which the user counts as typing. */
const typingMs = 1_000

/**
 * A chat surface on a terminal, with multi-line input, history, search and completion. Text typed during a turn stays below the
 * output: complete messages are queued and shown as such. While a question is on the screen, everything else waits.
 */
export function terminalChatSurface(
  io: Io,
  lock: TerminalLock,
  { exit = () => {}, earlier = () => [], markdown: Markdown, screen }: TerminalChatOptions = {},
): ChatSurface {
  const palette = paletteFor(io.stdout, io.env)
  const output = new TerminalOutput(io.stdout)
  const queue: string[] = []
  let history: string[] | undefined
  /** Text typed during a turn and not yet sent. */
  let unsent = ''
  let typing: Typing | undefined
  /** Whether Ctrl+C was pressed since the last read. */
  let interrupted = false
  /** Time of the last key press that did not send the message. */
  let lastKey = Number.NEGATIVE_INFINITY
  let watching = false
  let detach: (() => void) | undefined
  let deferredWrites: (() => void)[] = []
  /** The unfinished last line of model text. */
  let tail = ''
  /** The line for work in progress, redrawn below each notice. */
  let liveLine = ''

  const inputs = (): readonly string[] => {
    history ??= [...new Set(earlier())].slice(-maxHistory)
    return history
  }
  const remember = (text: string): void => {
    if (text.trim() === '') return
    history = [...inputs().filter((one) => one !== text), text].slice(-maxHistory)
  }

  /** Runs the function now, or when no question is on the screen. */
  function whenUnlocked(work: () => void): void {
    if (!lock.isLocked) {
      work()
      return
    }
    if (deferredWrites.length === 0) {
      lock.whenFree().then(() => {
        const all = deferredWrites
        deferredWrites = []
        for (const one of all) whenUnlocked(one)
      })
    }
    deferredWrites.push(work)
  }

  /** The unfinished Markdown block is redrawn with every piece, and rendered in full once it is complete. */
  function clearTail(): void {
    if (tail !== '') output.replaceLine('', false)
    tail = ''
  }

  const write = (text: string): void =>
    whenUnlocked(() => {
      const last = liveLine === '' ? tail : liveLine
      if (last !== '') output.replaceLine('', false)
      output.write(text)
      if (last !== '' && text.endsWith('\n')) output.replaceLine(last, false)
    })
  /** Writes a block in place of the unfinished one. */
  const writeBlock = (text: string): void =>
    whenUnlocked(() => {
      clearTail()
      write(text)
    })
  const live = (line: string, over: boolean): void => {
    liveLine = over ? '' : line
    drawLine(line, over)
  }
  const drawLine = (line: string, over: boolean): void => {
    // The progress line is redrawn on its next update.
    if (over || !lock.isLocked) whenUnlocked(() => output.replaceLine(line, over))
  }

  function draw(): void {
    output.show(typing === undefined || detach === undefined ? undefined : viewOf(typing))
  }

  function viewOf({ editor, prompt, ahead, suggestion }: Typing): InputView | undefined {
    if (ahead && queue.length === 0 && editor.text === '' && editor.search === undefined) return undefined
    const { search, note } = editor
    const room = output.columns - 1
    const hidden = queue.length - maxQueuedRows
    const above = ahead
      ? [
          ...queue.slice(0, maxQueuedRows).map((text) => palette.dim(oneLine(`queued › ${text}`, room))),
          ...(hidden > 0 ? [palette.dim(`… ${hidden} more queued`)] : []),
        ]
      : []
    if (search !== undefined) {
      const mark = search.found || search.query === '' ? '' : ', nothing found'
      return { above, prompt: `${oneLine(`(search${mark}) ${search.query}`, room - 10)} › `, ...editor.shown }
    }
    if (suggestion !== undefined && editor.text === '')
      above.push(palette.dim(oneLine(`Tab: ${suggestion}`, room)))
    if (note !== undefined) above.push(palette.yellow(oneLine(note, room)))
    return { above, prompt, text: editor.text, cursor: editor.line.cursor }
  }

  function attach(): void {
    if (typing === undefined || detach !== undefined) return
    if (lock.isLocked) {
      lock.whenFree().then(attach)
      return
    }
    io.stdout.write('\u001b[?2004h')
    const stop = readKeys(io.stdin, press, () => typing?.end())
    detach = () => {
      detach = undefined
      draw()
      stop()
      io.stdout.write('\u001b[?2004l')
    }
    draw()
  }

  lock.setMessageLine({
    get isTyping() {
      return (typing?.editor.text ?? unsent) !== '' || performance.now() - lastKey < typingMs
    },
    type(keys) {
      lastKey = performance.now()
      // Keys that move or send are ignored while the message is hidden.
      for (const part of stripVTControlCharacters(keys).split(/(\u007f)/)) {
        const text = cleanPaste(part).replaceAll('\n', '')
        if (part !== '\u007f' && text === '') continue
        if (typing !== undefined) typing.editor.press(text === '' ? { name: 'backspace' } : { typed: text })
        else unsent = text === '' ? unsent.slice(0, -1) : unsent + text
      }
    },
    suspend() {
      detach?.()
      clearTail()
      output.endLine()
      lock.whenFree().then(attach)
    },
  })

  function press(key: ScreenKey): void {
    const now = typing
    if (now === undefined) return
    const action = now.editor.press(key)
    if (now.editor.text !== '' || action === 'interrupt') delete now.suggestion
    lastKey = action === undefined || action === 'complete' ? performance.now() : Number.NEGATIVE_INFINITY
    if (action === 'submit') now.submit(now.editor.text)
    else if (action === 'interrupt') now.interrupt()
    else if (action === 'escape') now.escape?.()
    else if (action === 'end') now.end()
    else if (action === 'complete') complete(now)
    draw()
  }

  function complete({ editor, complete: wanted, suggestion }: Typing): void {
    if (editor.text === '' && suggestion !== undefined) {
      editor.replace(suggestion)
      return
    }
    if (wanted === undefined) return
    const { text, cursor } = editor.line
    wanted(text.slice(0, cursor)).then(
      ([hits, part]) => {
        // Text typed in the meantime has priority.
        if (typing?.editor !== editor || editor.text !== text || hits.length === 0) return
        const common = hits.reduce(commonPrefix)
        if (common.length > part.length || hits.length === 1) editor.completeWith(part, common)
        else output.write(`${palette.dim(hits.map((hit) => oneLine(hit, 100)).join('   '))}\n`)
        draw()
      },
      () => {},
    )
  }

  /** Reads one text; an earlier pending read continues afterwards. */
  function begin(next: Typing): () => void {
    const outer = typing
    detach?.()
    typing = next
    attach()
    return () => {
      if (typing !== next) return
      detach?.()
      typing = outer
      attach()
    }
  }

  function echo(prompt: string, text: string): void {
    output.write(`${prompt}${plain(text).replaceAll('\n', '\n      ')}\n`)
  }

  /** Ctrl+C between two reads, also while a stopped turn is ending. */
  function onIdleInterrupt(): void {
    if (interrupted) exit()
    else output.write(exitHint)
    interrupted = true
  }

  function read(prompt: string, { complete, draft = '', isMessage = false, suggestion }: ReadOptions) {
    return new Promise<string | undefined>((resolve) => {
      let asked = false
      interrupted = false
      const editor = new InputEditor(isMessage ? unsent || draft : draft, isMessage ? inputs : undefined)
      if (isMessage) unsent = ''
      // Only a message needs Ctrl+C twice; any other line is cancelled at once.
      const leaveLine = (): void => {
        done()
        echo(prompt, '')
        resolve(undefined)
      }
      const done = begin({
        ...{ editor, prompt, ahead: false },
        ...(!isMessage && { escape: leaveLine }),
        ...(complete !== undefined && { complete }),
        ...(suggestion !== undefined && { suggestion }),
        submit(text) {
          done()
          echo(prompt, text)
          if (isMessage) remember(text)
          resolve(text)
        },
        interrupt() {
          if (!isMessage) return leaveLine()
          const isEmpty = editor.text === ''
          if (asked && isEmpty) {
            done()
            resolve(undefined)
            return
          }
          asked = true
          editor.replace('')
          draw()
          output.write(exitHint)
        },
        end() {
          done()
          output.write('\n')
          resolve(undefined)
        },
      })
    })
  }

  return {
    palette,
    columns: () => io.stdout.columns,
    write,
    live,
    ...(Markdown !== undefined && {
      markdown: () =>
        new Markdown({
          ...{ palette, columns: () => output.columns, write: writeBlock },
          live(line) {
            if (lock.isLocked) return
            tail = line
            drawLine(line, false)
          },
        }),
    }),
    async readLine(prompt, options = {}) {
      if (!watching) io.onInterrupt(onIdleInterrupt)
      watching = true
      // The next question may start before this continues.
      while (lock.isLocked) await lock.whenFree()
      const next = options.isMessage === true ? queue.shift() : undefined
      if (next === undefined) return read(prompt, options)
      echo(prompt, next)
      return next
    },
    async aside(work) {
      lock.setAsking(true)
      try {
        return await work()
      } finally {
        lock.setAsking(false)
      }
    },
    ...(screen !== undefined && { screen }),
    startTurn() {
      const stop = new AbortController()
      let isClosed = false
      const interrupt = (): void => {
        interrupted = true
        stop.abort(new Error('The user stopped the turn'))
        // Queued messages were written for after the answer, so they can be edited now.
        unsent = [...queue.splice(0), ...(unsent === '' ? [] : [unsent]), ahead.editor.text].join('\n').trim()
        ahead.editor = new InputEditor('')
        // Pressing it again while the turn is ending leaves the chat.
        done()
      }
      const ahead: Typing = {
        editor: new InputEditor(unsent, inputs),
        prompt: `${palette.green('you')} › `,
        ahead: true,
        submit(text) {
          ahead.editor = new InputEditor('', inputs)
          if (text.trim() !== '') {
            remember(text)
            queue.push(text)
          }
          draw()
        },
        interrupt,
        end: () => {},
      }
      unsent = ''
      const end = io.onInterrupt(interrupt)
      const stopTyping = begin(ahead)
      const done = (back?: string): void => {
        if (!isClosed) {
          isClosed = true
          liveLine = ''
          end()
          if (unsent === '') unsent = ahead.editor.text
          stopTyping()
        }
        if (back !== undefined && back !== '') unsent = unsent === '' ? back : `${back}\n${unsent}`
      }
      return { signal: AbortSignal.any([stop.signal, io.signal]), done }
    },
  }
}

function commonPrefix(one: string, other: string): string {
  let length = 0
  while (length < one.length && one[length] === other[length]) length += 1
  return one.slice(0, length)
}
