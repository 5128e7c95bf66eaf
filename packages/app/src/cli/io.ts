import type { Readable, Writable } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { exactJson } from '../output/exact.ts'
import { type Palette, paletteFor } from '../output/palette.ts'

/** A stream that may be a terminal. */
export type TextStream = Writable & { isTTY?: boolean; columns?: number }

/** What a command has of the world outside: its streams, variables and folder. */
export interface Io {
  stdin: Readable & { isTTY?: boolean }
  stdout: TextStream
  stderr: TextStream
  env: NodeJS.ProcessEnv
  cwd: string
  /** Messages on stderr are lines of JSON, as with `--json`. Default false. */
  json?: boolean
  /** Aborted by Ctrl+C. */
  signal: AbortSignal
  /** Does what Ctrl+C does, where a key is read that is no signal. */
  interrupt(): void
  /** Takes Ctrl+C over from `signal` until the returned function is called. */
  onInterrupt(listener: () => void): () => void
}

/** Where a command's result and messages go: the result to stdout, everything else to stderr. */
export interface Output {
  /** The result is one JSON document. */
  readonly json: boolean
  /** For text on stdout. */
  readonly palette: Palette
  /** Columns of stdout, where it is a terminal. */
  readonly columns: number | undefined
  /** Gives the command's result: as JSON, or as the text that `text` makes. Call it once. */
  result(value: unknown, text: () => string): void
  /** One of many results, as `watch` has them: a line of JSON, or a line of text. */
  row(value: unknown, text: string): void
  /** Writes a message beside the result, see `writeNote`. */
  note(text: string): void
}

/**
 * Writes a message to stderr. The text must be safe to print; a warning begins with `! `. Where messages are JSON it is one
 * line, `{"warning":"…"}` or `{"note":"…"}`.
 */
export function writeNote(
  { stderr, env, json = false }: Pick<Io, 'stderr' | 'env' | 'json'>,
  text: string,
): void {
  stderr.write(json ? jsonNote(text) : `${paletteFor(stderr, env).dim(text)}\n`)
}

/** A message as a line of JSON. */
export function jsonNote(text: string): string {
  const words = stripVTControlCharacters(text)
  return `${exactJson(words.startsWith('! ') ? { warning: words.slice(2) } : { note: words })}\n`
}

/** Makes the output of one command. */
export function createOutput(io: Io, json: boolean): Output {
  const palette = paletteFor(io.stdout, io.env)
  return {
    json,
    palette,
    // A terminal that does not know its width reports 0.
    columns: io.stdout.isTTY ? io.stdout.columns || undefined : undefined,
    result(value, text) {
      io.stdout.write(`${json ? exactJson(value, 2) : text()}\n`)
    },
    row(value, text) {
      io.stdout.write(`${json ? exactJson(value) : text}\n`)
    },
    note: (text) => writeNote(io, text),
  }
}

/** Whether a person can be asked: they must see the question and be able to type. */
export function isInteractive(io: Io): boolean {
  return io.stdin.isTTY === true && io.stderr.isTTY === true
}
