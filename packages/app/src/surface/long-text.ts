import type { Prompter } from '../forms/prompter.ts'

/** Lines of one text shown before the option to show all. */
const maxLines = 40
const maxCharacters = 4_000

/** The start of a long text, and the size of the rest. */
export function startOf(text: string): { lines: string[]; more: number } {
  const lines: string[] = []
  let used = 0
  for (const line of text.split('\n').slice(0, maxLines)) {
    const start = line.slice(0, maxCharacters - used)
    lines.push(start)
    used += start.length + 1
    if (start.length < line.length || used >= maxCharacters) break
  }
  const shown = lines.join('\n').length
  return { lines, more: text.length - shown }
}

/** Shows a text; of a long one only the start, with the count of hidden characters. */
export function showText(text: string, prompter: Prompter): { all: boolean } {
  const { lines, more } = startOf(text)
  if (more <= 0) {
    prompter.say(lines)
    return { all: true }
  }
  prompter.say([
    ...lines,
    `… ${more.toLocaleString('en')} more of ${text.length.toLocaleString('en')} characters`,
  ])
  return { all: false }
}
