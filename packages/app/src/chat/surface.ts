import type { Fix } from '@jackfield/host'
import type { Cancelled } from '../forms/prompter.ts'
import type { ScreenView } from '../forms/screen.ts'
import { createFlow, type Flow, wrapText } from '../output/flow.ts'
import type { Palette } from '../output/palette.ts'
import { plain } from '../output/sanitize.ts'

/** Events printed for a program, one line of JSON each. */
export type ChatEvent =
  | { type: 'conversation'; id: string; title: string; model: string; turns: number }
  | { type: 'text'; text: string }
  | { type: 'call'; id: string; name: string; arguments: Record<string, unknown> }
  | {
      type: 'result'
      id: string
      name: string
      outcome: 'ok' | 'failed' | 'denied'
      content: unknown[]
      /** The id of the row in the activity log. */
      activity?: number
      /** Milliseconds between sending and the response. */
      durationMs?: number
    }
  /** A question of the call was deferred; its `result` follows when it is answered, possibly in a later turn. */
  | { type: 'later'; id: string; name: string; question: string }
  | { type: 'task'; id: string; name: string; task: string }
  | {
      type: 'turn'
      stopReason: string
      text: string
      rounds: number
      usage: { inputTokens: number; outputTokens: number }
      /** Tool calls not run because the model requested too many. */
      callsNotRun?: number
    }
  /** A notice outside the conversation, or the output of a command. */
  | { type: 'notice'; text: string }
  | { type: 'error'; message: string; fixes?: readonly Fix[] }

/** Options of `readLine`. */
export interface ReadOptions {
  /** Completes the line up to the cursor: full replacements for the returned part of it. */
  complete?: (line: string) => Promise<[hits: string[], part: string]>
  /** The initial text, which can be edited. */
  draft?: string
  /** A suggestion shown above the line until something is typed; Tab inserts it. It is sent only on Enter. */
  suggestion?: string
  /** The line is a message to the model or a chat command: queued lines are read first, and it is added to the history. */
  isMessage?: boolean
}

/** Input and output of a chat: writes text and reads lines. */
export interface ChatSurface {
  palette: Palette
  /** The current line width; undefined when lines are not wrapped. */
  columns(): number | undefined
  /** Writes text that is safe to print. */
  write(text: string): void
  /**
   * Writes everything that is neither an answer nor command output: to stderr when another program reads stdout. Absent when all
   * output goes to one stream.
   */
  notes?: ChatSurface
  /**
   * Draws one line for work in progress, replacing the previous one. It must fit the width. Available only on surfaces that can
   * redraw a line; with `over`, the line remains.
   */
  live?(line: string, over: boolean): void
  /** Renders Markdown incrementally. Terminals only; otherwise text is printed as written. */
  markdown?(): Flow
  /** Receives events instead of drawings. */
  emit?(event: ChatEvent): void
  /** Reads a line; undefined when the user ends input (Ctrl+D) or, unless it is a message, cancels (Ctrl+C, Esc). */
  readLine(prompt: string, options?: ReadOptions): Promise<string | undefined>
  /** Releases the terminal to other work, such as an editor, until the promise settles. Terminals only. */
  aside?<T>(work: () => Promise<T>): Promise<T>
  /** Shows a view that takes every key, until it returns an answer. Terminals only. */
  screen?<T>(view: ScreenView<T>, signal: AbortSignal): Promise<T | Cancelled>
  /**
   * Returns a signal that aborts when the user stops the turn, and a function to call at its end: `back` is text to put back into
   * the line.
   */
  startTurn(): { signal: AbortSignal; done(back?: string): void }
}

/** Writer for model text as it streams: rendered on a terminal, otherwise as written. Sanitizes its input. */
export function modelText(surface: ChatSurface): Flow {
  if (surface.markdown !== undefined) return surface.markdown()
  const indent = surface.columns() === undefined ? 0 : 2
  const flow = createFlow({ write: (text) => surface.write(text), columns: () => surface.columns(), indent })
  return { push: (text) => flow.push(plain(text)), end: () => flow.end() }
}

/** Asks whether to use a text as it is, until the answer is valid; undefined when the user cancels. */
export async function askUse(
  question: string,
  surface: ChatSurface,
): Promise<'yes' | 'no' | 'edit' | undefined> {
  for (;;) {
    const line = (await surface.readLine(`${question} [Y/n/e(dit)] › `))?.trim().toLowerCase()
    if (line === undefined) return undefined
    if (['', 'y', 'yes'].includes(line)) return 'yes'
    if (['n', 'no'].includes(line)) return 'no'
    if (['e', 'edit'].includes(line)) return 'edit'
    const possible = 'y or Enter means yes, n means no, e means edit.'
    const text = line.startsWith('/')
      ? `Answer this question before a command: ${possible}`
      : `Possible: ${possible}`
    surface.write(`${surface.palette.yellow(text)}\n`)
  }
}

/** Writes a text of several lines, indented on a terminal. */
export function writeIndented(text: string, surface: ChatSurface): void {
  const columns = surface.columns()
  surface.write(`${wrapText(text, columns, columns === undefined ? 0 : 2)}\n`)
}

/** Writes a complete text of a model. */
export function writeModelText(text: string, surface: ChatSurface): void {
  const flow = modelText(surface)
  flow.push(text)
  if (flow.end()) flow.push('\n')
}
