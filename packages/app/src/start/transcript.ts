import type { Palette } from '../output/palette.ts'
import { plain } from '../output/sanitize.ts'
import { wrap } from '../output/width.ts'

/** Speakers of a transcript. */
export type Speaker = 'person' | 'planner' | 'host' | 'server'

export type Tone = 'normal' | 'dim' | 'good' | 'bad' | 'heading'

export interface Line {
  /** Printed only on the first line of a speaker. */
  speaker: { role: Speaker; name: string } | undefined
  text: string
  tone: Tone
}

/** A conversation that is printed as it happens, and recorded for a picture. */
export interface Transcript {
  readonly lines: readonly Line[]
  heading(text: string): void
  say(role: Speaker, name: string, text: string, tone?: Tone): void
}

const maxColumns = 96
const minColumns = 32
const margin = 12

/**
 * Starts a transcript that prints to `write`. Texts are sanitized here.
 * @param columns width of the terminal, if it is one
 */
export function createTranscript(
  write: (text: string) => void,
  palette: Palette,
  columns: number = maxColumns,
): Transcript {
  const width = Math.max(minColumns, Math.min(columns, maxColumns)) - margin
  const lines: Line[] = []

  function add(line: Line): void {
    lines.push(line)
    write(`${format(line, palette)}\n`)
  }

  return {
    lines,
    heading(text) {
      if (lines.length > 0) add({ speaker: undefined, text: '', tone: 'normal' })
      add({ speaker: undefined, text, tone: 'heading' })
    },
    say(role, name, text, tone = 'normal') {
      for (const [n, line] of wrap(plain(text), width).entries()) {
        add({ speaker: n === 0 ? { role, name } : undefined, text: line, tone })
      }
    },
  }
}

function format(line: Line, palette: Palette): string {
  if (line.tone === 'heading') return palette.bold(line.text)
  if (line.text === '' && line.speaker === undefined) return ''
  const colours = {
    person: palette.green,
    planner: palette.magenta,
    host: palette.cyan,
    server: palette.yellow,
  }
  const name = (line.speaker?.name ?? '').padEnd(margin)
  const head = line.speaker === undefined ? name : colours[line.speaker.role](palette.bold(name))
  const tones = {
    normal: (text: string) => text,
    heading: palette.bold,
    dim: palette.dim,
    good: palette.green,
    bad: palette.red,
  }
  return `${head}${tones[line.tone](line.text)}`
}
