import type { Io } from '../cli/io.ts'
import type { Flow } from '../output/flow.ts'
import type { MarkdownFlow } from '../output/markdown-flow.ts'
import { type Palette, paletteFor } from '../output/palette.ts'
import { plain } from '../output/sanitize.ts'
import { InputEditor } from './input-editor.ts'
import { InputLine, type Typing } from './input-line.ts'
import type { ChatSurface, ReadOptions } from './surface.ts'
import type { TerminalLock } from './terminal-lock.ts'
import { TerminalOutput } from './terminal-output.ts'

export interface TerminalChatOptions {
  /** Renders Markdown; without it, text is printed as written. */
  markdown?: typeof MarkdownFlow
  /** Shows a view between questions; without it, there are no selection lists. */
  screen?: NonNullable<ChatSurface['screen']>
  /** Called when Ctrl+C is pressed again while something runs that reads no input. */
  exit: () => void
  /** Inputs of earlier conversations, oldest first. */
  earlier: () => readonly string[]
}

const exitHint = '(To quit: Ctrl+C again, Ctrl+D or /quit)\n'
const maxHistory = 1_000

/**
 * A chat surface on a terminal, with multi-line input, history, search and completion. Text typed during a turn stays below the
 * output: complete messages are queued and shown as such. While a question is on the screen, everything else waits.
 */
export class TerminalChatSurface implements ChatSurface {
  readonly palette: Palette
  readonly markdown?: () => Flow
  readonly screen?: NonNullable<ChatSurface['screen']>
  readonly #io: Io
  readonly #lock: TerminalLock
  readonly #output: TerminalOutput
  readonly #input: InputLine
  readonly #options: TerminalChatOptions
  readonly #queue: string[] = []
  #history: readonly string[] | undefined
  /** Whether Ctrl+C was pressed since the last read. */
  #isInterrupted = false
  #hasRead = false

  constructor(io: Io, lock: TerminalLock, options: TerminalChatOptions) {
    const { markdown: Markdown, screen } = options
    const palette = paletteFor(io.stdout, io.env)
    const output = new TerminalOutput(io.stdout, lock)
    this.palette = palette
    this.#io = io
    this.#lock = lock
    this.#output = output
    this.#input = new InputLine(io, lock, output)
    this.#options = options
    if (screen !== undefined) this.screen = screen
    if (Markdown !== undefined)
      this.markdown = () =>
        new Markdown({
          ...{ palette, columns: () => output.columns },
          write: (text) => output.writeBlock(text),
          live: (line) => output.showBlock(line),
        })
  }

  columns(): number | undefined {
    return this.#io.stdout.columns
  }

  write(text: string): void {
    this.#output.write(text)
  }

  live(line: string, over: boolean): void {
    this.#output.showLive(line, over)
  }

  async readLine(prompt: string, options: ReadOptions = {}): Promise<string | undefined> {
    if (!this.#hasRead) this.#io.onInterrupt(() => this.#onIdleInterrupt())
    this.#hasRead = true
    // The next question may start before this continues.
    while (this.#lock.isLocked) await this.#lock.whenFree()
    const queued = options.isMessage === true ? this.#queue.shift() : undefined
    if (queued === undefined) return this.#read(prompt, options)
    this.#echo(prompt, queued)
    return queued
  }

  async aside<T>(work: () => Promise<T>): Promise<T> {
    this.#lock.setAsking(true)
    try {
      return await work()
    } finally {
      this.#lock.setAsking(false)
    }
  }

  startTurn(): ReturnType<ChatSurface['startTurn']> {
    const input = this.#input
    const stop = new AbortController()
    let isClosed = false
    const interrupt = (): void => {
      this.#isInterrupted = true
      stop.abort(new Error('The user stopped the turn'))
      // Queued messages were written for after the answer, so they can be edited now.
      const unsent = input.unsent === '' ? [] : [input.unsent]
      input.unsent = [...this.#queue.splice(0), ...unsent, ahead.editor.text].join('\n').trim()
      ahead.editor = new InputEditor('')
      // Pressing it again while the turn is ending leaves the chat.
      done()
    }
    const ahead: Typing = {
      editor: new InputEditor(input.unsent, () => this.#inputs()),
      prompt: `${this.palette.green('you')} › `,
      queue: this.#queue,
      submit: (text) => {
        ahead.editor = new InputEditor('', () => this.#inputs())
        if (text.trim() === '') return
        this.#remember(text)
        this.#queue.push(text)
      },
      interrupt,
      end: () => {},
    }
    input.unsent = ''
    const end = this.#io.onInterrupt(interrupt)
    const stopTyping = input.begin(ahead)
    const done = (back = ''): void => {
      if (!isClosed) {
        isClosed = true
        this.#output.endLive()
        end()
        if (input.unsent === '') input.unsent = ahead.editor.text
        stopTyping()
      }
      if (back !== '') input.unsent = input.unsent === '' ? back : `${back}\n${input.unsent}`
    }
    return { signal: AbortSignal.any([stop.signal, this.#io.signal]), done }
  }

  #read(
    prompt: string,
    { complete, draft = '', isMessage = false, suggestion }: ReadOptions,
  ): Promise<string | undefined> {
    const { promise, resolve } = Promise.withResolvers<string | undefined>()
    const text = isMessage ? this.#input.unsent || draft : draft
    const editor = new InputEditor(text, isMessage ? () => this.#inputs() : undefined)
    if (isMessage) this.#input.unsent = ''
    this.#isInterrupted = false
    let isWarned = false
    const finish = (line: string | undefined): void => {
      done()
      resolve(line)
    }
    // Only a message needs Ctrl+C twice; any other line is cancelled at once.
    const cancel = (): void => {
      finish(undefined)
      this.#echo(prompt, '')
    }
    const done = this.#input.begin({
      ...{ editor, prompt },
      ...(!isMessage && { escape: cancel }),
      ...(complete !== undefined && { complete }),
      ...(suggestion !== undefined && { suggestion }),
      submit: (line) => {
        finish(line)
        this.#echo(prompt, line)
        if (isMessage) this.#remember(line)
      },
      interrupt: () => {
        if (!isMessage) return cancel()
        if (isWarned && editor.text === '') return finish(undefined)
        isWarned = true
        editor.replace('')
        this.#output.write(exitHint)
      },
      end: () => {
        finish(undefined)
        this.#output.write('\n')
      },
    })
    return promise
  }

  /** Ctrl+C between two reads, also while a stopped turn is ending. */
  #onIdleInterrupt(): void {
    if (this.#isInterrupted) this.#options.exit()
    else this.#output.write(exitHint)
    this.#isInterrupted = true
  }

  #echo(prompt: string, text: string): void {
    this.#output.write(`${prompt}${plain(text).replaceAll('\n', '\n      ')}\n`)
  }

  #inputs(): readonly string[] {
    this.#history ??= [...new Set(this.#options.earlier())].slice(-maxHistory)
    return this.#history
  }

  #remember(text: string): void {
    if (text.trim() === '') return
    this.#history = [...this.#inputs().filter((one) => one !== text), text].slice(-maxHistory)
  }
}
