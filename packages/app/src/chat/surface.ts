import type { Fix } from '@jackfield/host'
import type { Cancelled } from '../forms/prompter.ts'
import type { ScreenView } from '../forms/screen.ts'
import { createFlow, type Flow } from '../output/flow.ts'
import type { Palette } from '../output/palette.ts'
import { plain } from '../output/sanitize.ts'

/** What a program that holds a conversation is told, one line of JSON each. */
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
      /** The row in the activity log. */
      activity?: number
      /** Between the moment it was sent and its answer. */
      durationMs?: number
    }
  /** A question of the call was left for later; its `result` comes once it is answered, in a later turn too. */
  | { type: 'later'; id: string; name: string; question: string }
  | { type: 'task'; id: string; name: string; task: string }
  | {
      type: 'turn'
      stopReason: string
      text: string
      rounds: number
      usage: { inputTokens: number; outputTokens: number }
      /** Tool calls that were not run because the model wanted too many. */
      callsNotRun?: number
    }
  /** Something that is said beside the conversation, or the answer to a command. */
  | { type: 'notice'; text: string }
  | { type: 'error'; message: string; fixes?: readonly Fix[] }

/** What `readLine` can do while the person types. */
export interface ReadOptions {
  /** Completes the line up to the cursor: whole replacements for the part of it that is given back. */
  complete?: (line: string) => Promise<[hits: string[], part: string]>
  /** What stands there already, to be changed. */
  draft?: string
  /** Shown above the line until something is typed; Tab puts it into the line. It is sent only if the person sends it. */
  suggestion?: string
  /** It is a message to the model or a command of the chat: what was queued is read first, and history applies. */
  isMessage?: boolean
}

/** The ends of a chat: a place to write, and a way to read one line. */
export interface ChatSurface {
  palette: Palette
  /** How wide lines may be at present; undefined where they are left as they are. */
  columns(): number | undefined
  /** Writes text that is safe to print. */
  write(text: string): void
  /**
   * Writes everything that is neither an answer nor the output of a command: to stderr, where another program reads stdout.
   * Absent where all of it goes to the same place.
   */
  notes?: ChatSurface
  /**
   * Draws one line that stands for something under way, in place of the one before. It must fit. Only faces that can
   * draw over a line have it; with `over`, the line stays and is followed by others.
   */
  live?(line: string, over: boolean): void
  /** Renders Markdown that comes in pieces. Only terminals have it; elsewhere a text stays as it was written. */
  markdown?(): Flow
  /** Takes events in place of drawings. */
  emit?(event: ChatEvent): void
  /** Reads a line; undefined when the person is done (Ctrl+D) or, unless it is a message, leaves it (Ctrl+C, Esc). */
  readLine(prompt: string, options?: ReadOptions): Promise<string | undefined>
  /** Leaves the terminal to other work, such as an editor, until that is over. Only terminals have it. */
  aside?<T>(work: () => Promise<T>): Promise<T>
  /** Lets the person work on a view that takes every key, until it gives an answer. Only terminals have it. */
  screen?<T>(view: ScreenView<T>, signal: AbortSignal): Promise<T | Cancelled>
  /** Gives a signal that is aborted when the person stops the turn, and a function to call when it is over: `back` is text that is in the line again. */
  turn(): { signal: AbortSignal; done(back?: string): void }
}

/** Where text of a model goes, as it comes: rendered on a terminal, as it was written elsewhere. It is made safe to print. */
export function modelText(face: ChatSurface): Flow {
  if (face.markdown !== undefined) return face.markdown()
  const indent = face.columns() === undefined ? 0 : 2
  const flow = createFlow({ write: (text) => face.write(text), columns: () => face.columns(), indent })
  return { push: (text) => flow.push(plain(text)), end: () => flow.end() }
}

/** Asks whether a text is used as it is, until an answer is valid; undefined when the person leaves the question. */
export async function askUse(
  question: string,
  face: ChatSurface,
): Promise<'yes' | 'no' | 'edit' | undefined> {
  for (;;) {
    const line = (await face.readLine(`${question} [Y/n/e(dit)] › `))?.trim().toLowerCase()
    if (line === undefined) return undefined
    if (['', 'y', 'yes'].includes(line)) return 'yes'
    if (['n', 'no'].includes(line)) return 'no'
    if (['e', 'edit'].includes(line)) return 'edit'
    const possible = 'y or Enter is yes, n is no, e is edit.'
    const text = line.startsWith('/')
      ? `Answer this question before a command: ${possible}`
      : `Possible: ${possible}`
    face.write(`${face.palette.yellow(text)}\n`)
  }
}

/** Writes a whole text of a model. */
export function writeModelText(text: string, face: ChatSurface): void {
  const flow = modelText(face)
  flow.push(text)
  if (flow.end()) flow.push('\n')
}
