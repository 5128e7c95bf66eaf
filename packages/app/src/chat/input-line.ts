import { stripVTControlCharacters } from 'node:util'
import type { Io } from '../cli/io.ts'
import type { ScreenKey } from '../forms/screen.ts'
import { type Palette, paletteFor } from '../output/palette.ts'
import { oneLine } from '../output/sanitize.ts'
import { cleanPaste, readKeys } from '../surface/read-keys.ts'
import type { InputEditor } from './input-editor.ts'
import type { ReadOptions } from './surface.ts'
import type { MessageLine, TerminalLock } from './terminal-lock.ts'
import type { InputView, TerminalOutput } from './terminal-output.ts'

/** A text being typed, and how it is resolved. */
export interface Typing {
  editor: InputEditor
  readonly prompt: string
  readonly complete?: ReadOptions['complete']
  suggestion?: string
  /** Messages queued before this one. With them, the line is typed while a turn runs: hidden while it is empty. */
  readonly queue?: readonly string[]
  submit(text: string): void
  interrupt(): void
  /** Esc was pressed. */
  escape?(): void
  end(): void
}

const maxQueuedRows = 4
/** Time after a key press or a sent message during which more keys may belong to a message. */
const typingMs = 1_000

/** The text being typed below the output. While a question is on the screen, it is hidden and reads no keys. */
export class InputLine implements MessageLine {
  /** Text typed while nothing was read, or not sent when a turn ended. */
  unsent = ''
  readonly #io: Io
  readonly #lock: TerminalLock
  readonly #output: TerminalOutput
  readonly #palette: Palette
  #typing: Typing | undefined
  /** Time of the last key press that did not send the message. */
  #lastKey = Number.NEGATIVE_INFINITY
  /** Time at which the last message was sent. */
  #lastSent = Number.NEGATIVE_INFINITY
  #stopReading: (() => void) | undefined

  constructor(io: Io, lock: TerminalLock, output: TerminalOutput) {
    this.#io = io
    this.#lock = lock
    this.#output = output
    this.#palette = paletteFor(io.stdout, io.env)
    lock.setMessageLine(this)
  }

  /** Reads one text; an earlier pending read continues after the returned function is called. */
  begin(typing: Typing): () => void {
    const outer = this.#typing
    this.#detach()
    this.#typing = typing
    this.#attach()
    return () => {
      if (this.#typing !== typing) return
      this.#detach()
      this.#typing = outer
      this.#attach()
    }
  }

  get isTyping(): boolean {
    const text = this.#typing?.editor.text ?? this.unsent
    return text !== '' || performance.now() - this.#lastKey < typingMs
  }

  get isJustSent(): boolean {
    return performance.now() - this.#lastSent < typingMs
  }

  type(keys: string): void {
    this.#lastKey = performance.now()
    // Keys that move or send are ignored while the message is hidden.
    for (const part of stripVTControlCharacters(keys).split(/(\u007f)/)) {
      const isBackspace = part === '\u007f'
      const text = isBackspace ? '' : cleanPaste(part).replaceAll('\n', '')
      if (!isBackspace && text === '') continue
      if (this.#typing !== undefined)
        this.#typing.editor.press(isBackspace ? { name: 'backspace' } : { typed: text })
      else this.unsent = isBackspace ? this.unsent.slice(0, -1) : this.unsent + text
    }
  }

  suspend(): void {
    this.#detach()
    this.#output.endLine()
    this.#lock.whenFree().then(() => this.#attach())
  }

  #attach(): void {
    if (this.#typing === undefined || this.#stopReading !== undefined) return
    if (this.#lock.isLocked) {
      this.#lock.whenFree().then(() => this.#attach())
      return
    }
    this.#io.stdout.write('\u001b[?2004h')
    this.#stopReading = readKeys(
      this.#io.stdin,
      (key) => this.#press(key),
      () => this.#typing?.end(),
    )
    this.#draw()
  }

  #detach(): void {
    const stop = this.#stopReading
    if (stop === undefined) return
    this.#stopReading = undefined
    this.#draw()
    stop()
    this.#io.stdout.write('\u001b[?2004l')
  }

  #press(key: ScreenKey): void {
    const typing = this.#typing
    if (typing === undefined) return
    const action = typing.editor.press(key)
    if (typing.editor.text !== '' || action === 'interrupt') delete typing.suggestion
    const isEdit = action === undefined || action === 'complete'
    this.#lastKey = isEdit ? performance.now() : Number.NEGATIVE_INFINITY
    if (action === 'submit') {
      this.#lastSent = performance.now()
      typing.submit(typing.editor.text)
    } else if (action === 'interrupt') typing.interrupt()
    else if (action === 'escape') typing.escape?.()
    else if (action === 'end') typing.end()
    else if (action === 'complete') this.#complete(typing)
    this.#draw()
  }

  #complete({ editor, complete, suggestion }: Typing): void {
    if (editor.text === '' && suggestion !== undefined) {
      editor.replace(suggestion)
      return
    }
    if (complete === undefined) return
    const { text, cursor } = editor.line
    complete(text.slice(0, cursor)).then(
      ([hits, part]) => {
        // Text typed in the meantime has priority.
        if (this.#typing?.editor !== editor || editor.text !== text || hits.length === 0) return
        const common = hits.reduce(commonPrefix)
        if (common.length > part.length || hits.length === 1) editor.completeWith(part, common)
        else this.#output.write(`${this.#palette.dim(hits.map((hit) => oneLine(hit, 100)).join('   '))}\n`)
        this.#draw()
      },
      () => {},
    )
  }

  #draw(): void {
    const typing = this.#stopReading === undefined ? undefined : this.#typing
    this.#output.show(typing === undefined ? undefined : this.#view(typing))
  }

  #view({ editor, prompt, queue, suggestion }: Typing): InputView | undefined {
    const { text, search, note } = editor
    if (queue?.length === 0 && text === '' && search === undefined) return undefined
    const room = this.#output.columns - 1
    const above = this.#queuedRows(queue ?? [], room)
    if (search !== undefined) {
      const mark = search.found || search.query === '' ? '' : ', nothing found'
      return { above, prompt: `${oneLine(`(search${mark}) ${search.query}`, room - 10)} › `, ...editor.shown }
    }
    if (suggestion !== undefined && text === '')
      above.push(this.#palette.dim(oneLine(`Tab: ${suggestion}`, room)))
    if (note !== undefined) above.push(this.#palette.yellow(oneLine(note, room)))
    return { above, prompt, text, cursor: editor.line.cursor }
  }

  #queuedRows(queue: readonly string[], room: number): string[] {
    const rows = queue.slice(0, maxQueuedRows).map((text) => oneLine(`queued › ${text}`, room))
    if (queue.length > maxQueuedRows) rows.push(`… ${queue.length - maxQueuedRows} more queued`)
    return rows.map((row) => this.#palette.dim(row))
  }
}

function commonPrefix(one: string, other: string): string {
  let length = 0
  while (length < one.length && one[length] === other[length]) length += 1
  return one.slice(0, length)
}
