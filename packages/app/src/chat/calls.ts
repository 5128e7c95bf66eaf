import type { ToolCallEvent } from '@jackfield/host'
import { block } from '../output/content.ts'
import type { Palette } from '../output/palette.ts'
import { oneLine, plain } from '../output/sanitize.ts'

type Of<T extends ToolCallEvent['type']> = Extract<ToolCallEvent, { type: T }>

const shown = 300

/** A tool call as one line; how much of the arguments is not shown is said. */
export function describeCall(event: Of<'start'>, palette: Palette): string {
  const json = plain(JSON.stringify(event.arguments))
  const rest = json.length - shown
  const args = rest > 0 ? `${json.slice(0, shown)}… (${rest} more characters; /activity shows all)` : json
  return `${palette.cyan('→')} ${palette.bold(oneLine(event.name))} ${palette.dim(args)}`
}

/** How a call ended, with the beginning of what it gave. */
export function describeEnd(event: Of<'end'>, palette: Palette): string {
  const text = oneLine(event.result.content.map((entry) => block(entry, palette)).join(' '), 160)
  if (event.denied) return `${palette.yellow('✗ denied')} ${palette.dim(text)}`
  return event.result.isError === true
    ? `${palette.red('✗ failed')} ${palette.dim(text)}`
    : `${palette.green('✓')} ${palette.dim(text)}`
}
