import { createInterface, type Key } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { type Cancelled, cancelled } from '../forms/prompter.ts'
import type { ScreenFrame, ScreenKey, ScreenView } from '../forms/screen.ts'
import { truncate } from '../output/flow.ts'
import { cleanPaste, textOfKey } from './read-keys.ts'

export interface ViewStreams {
  input: Readable
  output: Writable & { columns?: number; rows?: number }
  /** Aborted when the answer is no longer needed. */
  signal?: AbortSignal
  /** Why keys are ignored, shown below the view; undefined when they are active. */
  hint?: () => string | undefined
}

const ansiCodes = {
  clear: '\u001b[J',
  hide: '\u001b[?25l',
  show: '\u001b[?25h',
  /** Enables bracketed paste, so that pasted line feeds do not act as Enter. */
  pastes: '\u001b[?2004h',
  noPastes: '\u001b[?2004l',
}

/** Redraws a view in place after every key until it returns an answer, then erases it. */
export function showView<T>(
  { input, output, signal, hint }: ViewStreams,
  view: ScreenView<T>,
): Promise<T | Cancelled> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve(cancelled)
    const lines = createInterface({ input, terminal: true, escapeCodeTimeout: 50 })
    let row = 0
    let pasted: string | undefined
    let isClosed = false
    let closed = false

    const toTop = (): string => `${row === 0 ? '' : `\u001b[${row}A`}\r`
    const draw = (): void => {
      const columns = output.columns ?? 80
      const note = hint?.()
      const frame = view.draw(columns, (output.rows ?? 24) - (note === undefined ? 0 : 1))
      const lines = note === undefined ? frame.lines : [...frame.lines, truncate(note, columns - 1)]
      output.write(`${ansiCodes.hide}${toTop()}${ansiCodes.clear}${lines.join('\r\n')}`)
      row = lines.length - 1
      place(frame)
    }
    const place = ({ cursor }: ScreenFrame): void => {
      if (cursor === undefined) return
      const up = row - cursor.row
      const right = cursor.column
      output.write(
        `${up > 0 ? `\u001b[${up}A` : ''}\r${right > 0 ? `\u001b[${right}C` : ''}${ansiCodes.show}`,
      )
      row = cursor.row
    }
    const end = (answer: T | Cancelled): void => {
      isClosed = true
      input.off('keypress', press)
      output.off('resize', draw)
      signal?.removeEventListener('abort', withdraw)
      lines.off('close', close)
      output.write(`${toTop()}${ansiCodes.clear}${ansiCodes.noPastes}${ansiCodes.show}`)
      lines.close()
      resolve(answer)
    }
    const withdraw = (): void => end(cancelled)
    // Ctrl+C and Ctrl+D close the interface; `press` gets the same key next and ends the view, once.
    const close = (): void => {
      if (input.readableEnded || input.destroyed) withdraw()
      else closed = true
    }
    const press = (typed: string | undefined, key: Key): void => {
      if (key.name === 'paste-start') {
        pasted = ''
        return
      }
      if (pasted !== undefined && key.name !== 'paste-end') {
        pasted += typed ?? ''
        if (closed) withdraw()
        return
      }
      const next: ScreenKey =
        pasted === undefined ? { ...key, ...textOfKey(typed, key) } : { typed: cleanPaste(pasted) }
      pasted = undefined
      const answer = view.press(next)
      if (answer !== undefined) end(answer.done)
      else if (closed) withdraw()
      else draw()
    }

    input.on('keypress', press)
    output.on('resize', draw)
    signal?.addEventListener('abort', withdraw, { once: true })
    lines.once('close', close)
    output.write(ansiCodes.pastes)
    view.onStart?.(
      () => {
        if (!isClosed) draw()
      },
      (done) => {
        if (!isClosed) end(done)
      },
    )
    draw()
  })
}
