import type { DefinitionChange, TrustFinding } from '@jackfield/host'
import { type DiffPiece, makeVisible, wordDiff } from '@jackfield/host/config'
import type { Palette } from './palette.ts'

const marks: Readonly<Record<DefinitionChange['kind'], string>> = {
  added: '+',
  changed: '~',
  removed: '-',
  renamed: '→',
}

/**
 * Changes of a server's definitions, item by item: word differences of texts as `[-…-]` and `{+…+}`, everything else as before
 * and after. Every character is visible.
 */
export function changeLines(changes: readonly DefinitionChange[], palette: Palette): string[] {
  const lines: string[] = []
  let currentHead = ''
  for (const change of changes) {
    const { kind, what, name, field, before, after } = change
    const head = `${what} ${name}`
    if (head !== currentHead) lines.push(headLine(change, palette))
    currentHead = head
    if (kind === 'added' && after !== undefined) lines.push(...indentedLines(after, '    ', palette.green))
    if (field === undefined) continue
    lines.push(`    ${palette.dim(makeVisible(field))}`)
    lines.push(...valueLines(before, after, palette))
  }
  return lines
}

function headLine({ kind, what, name, before }: DefinitionChange, palette: Palette): string {
  const words = {
    added: 'new',
    changed: 'changed',
    removed: 'gone',
    renamed: `was ${makeVisible(before ?? '')}`,
  }
  const title = what === name ? what : `${what} ${palette.bold(makeVisible(name))}`
  return `${marks[kind]} ${title}  ${palette.dim(words[kind])}`
}

function valueLines(before: string | undefined, after: string | undefined, palette: Palette): string[] {
  if (before !== undefined && after !== undefined && isProse(before) && isProse(after)) {
    const text = wordDiff(before, after)
      .map((piece) => diffPieceText(piece, palette))
      .join('')
    return text.split('\n').map((line) => `      ${line}`)
  }
  return [
    ...(before === undefined ? [] : indentedLines(before, '    - ', palette.red)),
    ...(after === undefined ? [] : indentedLines(after, '    + ', palette.green)),
  ]
}

/** A segment of a text difference: `[-removed-]`, `{+added+}`. */
export function diffPieceText({ kind, text }: DiffPiece, palette: Palette): string {
  const shown = makeVisible(text)
  if (kind === 'same') return shown
  return kind === 'removed' ? palette.red(`[-${shown}-]`) : palette.green(`{+${shown}+}`)
}

function indentedLines(text: string, indent: string, colour: (line: string) => string): string[] {
  return makeVisible(text)
    .split('\n')
    .map((line, n) => `${n === 0 ? indent : ' '.repeat(indent.length)}${colour(line)}`)
}

function isProse(text: string): boolean {
  return /\s/.test(text.trim()) && !/^[[{]/.test(text)
}

const signs: Readonly<Record<TrustFinding['severity'], string>> = { danger: '✗', warning: '!', notice: '·' }

/** Findings for the user, most severe first. */
export function findingLines(findings: readonly TrustFinding[], palette: Palette): string[] {
  const colours = { danger: palette.red, warning: palette.yellow, notice: palette.dim }
  return (['danger', 'warning', 'notice'] as const).flatMap((severity) =>
    findings
      .filter((finding) => finding.severity === severity)
      .map(({ at, message }) => {
        const head = colours[severity](`${signs[severity]} ${severity}`)
        return `${head}  ${palette.dim(visibleLine(at))}  ${visibleLine(message)}`
      }),
  )
}

function visibleLine(text: string): string {
  return makeVisible(text).replace(/\s+/g, ' ').trim()
}
