import type { Readable, Writable } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import type { Fix } from '@jackfield/host'
import { exactJson } from '../output/exact.ts'
import { type Palette, paletteFor } from '../output/palette.ts'

/** A stream that may be a terminal. */
export type TextStream = Writable & { isTTY?: boolean; columns?: number }

/** The environment of a command: streams, variables and folder. */
export interface Io {
  stdin: Readable & { isTTY?: boolean }
  stdout: TextStream
  stderr: TextStream
  env: NodeJS.ProcessEnv
  cwd: string
  /** Prints messages on stderr as JSON lines, as with `--json`. Default false. */
  json?: boolean
  /** Aborted by Ctrl+C. */
  signal: AbortSignal
  /** Has the effect of Ctrl+C, for a key press that raises no signal. */
  interrupt(): void
  /** Handles Ctrl+C instead of `signal`, until the returned function is called. */
  onInterrupt(listener: () => void): () => void
}

/** The output of a command: the result goes to stdout, messages to stderr. */
export interface Output {
  /** The result is one JSON document. */
  readonly json: boolean
  /** For text on stdout. */
  readonly palette: Palette
  /** Columns of stdout, if it is a terminal. */
  readonly columns: number | undefined
  /** Prints the result: as JSON, or as the text returned by `text`. Call it once. */
  result(value: unknown, text: () => string): void
  /** Prints one of many results, as in `watch`: a line of JSON, or a line of text. */
  row(value: unknown, text: string): void
  /** Prints a message, see `writeNote`. With fixes: see `noteWithFixes`. */
  note(text: string, fixes?: readonly Fix[]): void
}

/**
 * Writes a message to stderr. The text must be safe to print; a warning starts with `! `. As JSON it is one line,
 * `{"warning":"…"}` or `{"note":"…"}`, with `fixes` if there are any.
 */
export function writeNote(
  { stderr, env, json = false }: Pick<Io, 'stderr' | 'env' | 'json'>,
  text: string,
  fixes?: readonly Fix[],
): void {
  stderr.write(json ? jsonNote(text, fixes) : `${paletteFor(stderr, env).dim(text)}\n`)
}

/** A message as a line of JSON. */
export function jsonNote(text: string, fixes: readonly Fix[] = []): string {
  const words = stripVTControlCharacters(text)
  const message = words.startsWith('! ') ? { warning: words.slice(2) } : { note: words }
  return `${exactJson({ ...message, ...(fixes.length > 0 && { fixes }) })}\n`
}

/** Creates the output of one command. */
export function createOutput(io: Io, json: boolean): Output {
  const palette = paletteFor(io.stdout, io.env)
  return {
    json,
    palette,
    // A terminal of unknown width reports 0.
    columns: io.stdout.isTTY ? io.stdout.columns || undefined : undefined,
    result(value, text) {
      io.stdout.write(`${json ? exactJson(value, 2) : text()}\n`)
    },
    row(value, text) {
      io.stdout.write(`${json ? exactJson(value) : text}\n`)
    },
    note: (text, fixes) => writeNote(io, text, fixes),
  }
}

/** Whether a user can be asked: stdin and stderr are terminals. */
export function isInteractive(io: Io): boolean {
  return io.stdin.isTTY === true && io.stderr.isTTY === true
}
