import { createTwoFilesPatch } from 'diff'
import { FileError } from '../access/file-error.ts'

/** One replacement in a text. */
export interface Edit {
  readonly oldText: string
  readonly newText: string
  /** Replaces every place that is exactly `oldText`. Default: the first. */
  readonly replaceAll?: boolean | undefined
}

/** A text after its edits. */
export interface EditResult {
  readonly text: string
  /** Messages for the model, such as further matches of an edit. */
  readonly notes: readonly string[]
}

/**
 * Applies edits in their order. Each replaces text that is exactly `oldText`, with the line endings of the file; if there is none,
 * lines that differ in their indentation or trailing spaces only, which keep their indentation. Everything else stays as it is.
 * @throws FileError if an edit matches nothing
 */
export function applyEdits(original: string, edits: readonly Edit[], path: string): EditResult {
  const notes: string[] = []
  const newline = original.includes('\r\n') ? '\r\n' : '\n'
  let text = original
  for (const [index, edit] of edits.entries()) {
    const which = edits.length === 1 ? 'oldText' : `oldText of edit ${index + 1}`
    if (edit.oldText === '') {
      throw new FileError(
        'failed',
        `The ${which} is empty. Name the text to replace, or use write_file for a new file.`,
      )
    }
    const toFile = (part: string): string => part.replaceAll(/\r?\n/g, newline)
    const [exact = edit.oldText] = [edit.oldText, toFile(edit.oldText)].filter((one) => text.includes(one))
    const count = text.split(exact).length - 1
    if (count > 0) {
      const replacement = toFile(edit.newText)
      text =
        edit.replaceAll === true
          ? text.split(exact).join(replacement)
          : text.replace(exact, () => replacement)
      if (count > 1 && edit.replaceAll !== true) {
        notes.push(
          `The ${which} occurs ${count} times; only the first was replaced. Set replaceAll, or include more lines around it.`,
        )
      }
      continue
    }
    const loose = replaceLines(text, edit, newline)
    if (loose === undefined) {
      throw new FileError(
        'failed',
        `Could not find exact match for edit:\n${edit.oldText}\nNothing was changed in ${path}. Read the file again.`,
      )
    }
    text = loose
    notes.push(`The ${which} was found with other indentation or spaces at the end of lines.`)
  }
  return { text, notes }
}

/** The text with lines replaced that are equal without their outer spaces; undefined if there are none. */
function replaceLines(text: string, { oldText, newText }: Edit, newline: string): string | undefined {
  const wanted = oldText.split(/\r?\n/)
  const trimmed = wanted.map((line) => line.trim())
  if (trimmed.every((line) => line === '')) return undefined
  // Every second part is a line ending.
  const parts = text.split(/(\r?\n)/)
  const lines = parts.filter((_, at) => at % 2 === 0)
  const at = lines.findIndex((_, start) =>
    trimmed.every((line, offset) => lines[start + offset]?.trim() === line),
  )
  if (at === -1) return undefined
  const indent = indentOf(lines[at] ?? '')
  const replacement = newText.split(/\r?\n/).map((line, index) => {
    if (index === 0) return indent + line.trimStart()
    const before = indentOf(wanted[index] ?? '')
    const now = indentOf(line)
    if (before === '' || now === '') return line
    return indent + ' '.repeat(Math.max(0, now.length - before.length)) + line.trimStart()
  })
  parts.splice(at * 2, wanted.length * 2 - 1, replacement.join(newline))
  return parts.join('')
}

function indentOf(line: string): string {
  return /^\s*/.exec(line)?.[0] ?? ''
}

const diffTimeoutMs = 2_000

/** The difference of two texts as a unified diff in a fenced block, without regard to the kind of line endings. */
export function diffBlock(before: string, after: string, path: string): string {
  const patch = createTwoFilesPatch(
    path,
    path,
    before.replaceAll('\r\n', '\n'),
    after.replaceAll('\r\n', '\n'),
    'original',
    'modified',
    { timeout: diffTimeoutMs },
  )
  if (patch === undefined) return 'The difference is too large to be shown.\n'
  const longest = Math.max(2, ...[...patch.matchAll(/`{3,}/g)].map(([run]) => run.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}diff\n${patch}${fence}\n\n`
}
