import { block } from '../output/content.ts'
import { fitting } from '../output/flow.ts'
import { shortId } from '../output/inbox.ts'
import type { Palette } from '../output/palette.ts'
import { oneLine, plain } from '../output/sanitize.ts'
import { widthOf } from '../output/width.ts'
import type { CallEvent } from './conversation-view.ts'

type Of<T extends CallEvent['type']> = Extract<CallEvent, { type: T }>

const shown = 300

/** A tool call on one line. Arguments that do not fit are counted. */
export function describeCall(event: Of<'start'>, palette: Palette): string {
  const json = plain(JSON.stringify(event.arguments))
  const rest = json.length - shown
  const args = rest > 0 ? `${json.slice(0, shown)}… (${rest} more characters; /show shows all)` : json
  return `${palette.cyan('→')} ${tag(event, palette)}${palette.bold(oneLine(event.name))} ${palette.dim(args)}`
}

/** The status of a finished call and the start of its result. */
export function describeEnd(event: Of<'end'>, ms: number | undefined, palette: Palette): string {
  const text = resultText(event, 160, palette)
  const after = ms === undefined ? '' : ` ${palette.dim(`(${duration(ms)})`)}`
  if (event.denied) return `${palette.yellow('✗ denied')} ${palette.dim(text)}`
  return event.result.isError === true
    ? `${palette.red('✗ failed')} ${palette.dim(text)}${after}`
    : `${palette.green('✓')} ${palette.dim(text)}${after}`
}

/** A running call as a line that is redrawn: `◌ name {…}  3 of 10`. */
export function callRunning(
  event: Of<'start'>,
  state: string,
  palette: Palette,
  columns: number | undefined,
): string {
  const name = fitting(oneLine(event.name), share(columns, 0.5))
  const about = fitting(oneLine(state), share(columns, 0.4))
  const room =
    columns === undefined ? undefined : columns - widthOf(name) - widthOf(about) - tagWidth(event) - 6
  const args = brief(event, room)
  return `${palette.cyan('◌')} ${tag(event, palette)}${palette.bold(name)}${args === '' ? '' : ` ${palette.dim(args)}`}${about === '' ? '' : `  ${palette.dim(about)}`}`
}

/** A finished call: `✓ name {…}  120 ms · 3 flights`. */
export function callDone(
  start: Of<'start'>,
  end: Of<'end'>,
  ms: number | undefined,
  palette: Palette,
  columns: number | undefined,
  isCancelled = false,
): string {
  const [mark, word] = end.denied
    ? [palette.yellow('✗'), 'denied']
    : isCancelled && end.result.isError === true
      ? [palette.yellow('✗'), 'cancelled']
      : end.result.isError === true
        ? [palette.red('✗'), 'failed']
        : [palette.green('✓'), '']
  const name = fitting(oneLine(start.name), share(columns, 0.4))
  const facts = [word, ms === undefined ? '' : duration(ms)].filter((part) => part !== '').join(' ')
  const room = columns === undefined ? 120 : columns - widthOf(name) - facts.length - tagWidth(start) - 8
  const args = brief(start, Math.floor(room / 2))
  const result = fitting(resultText(end, 400, palette), Math.max(0, room - widthOf(args)))
  const parts = [facts, result].filter((part) => part !== '').join(' · ')
  return `${mark} ${tag(start, palette)}${palette.bold(name)}${args === '' ? '' : ` ${palette.dim(args)}`}${parts === '' ? '' : `  ${palette.dim(parts)}`}`
}

/** A call whose result is deferred: `◇ name {…}  waits for you: /respond 7244c9a7`. */
export function callDeferred(
  start: Of<'start'>,
  event: Of<'later'> | Of<'task'>,
  palette: Palette,
  columns: number | undefined,
): string {
  const about =
    event.type === 'later'
      ? `waits for you: /respond ${shortId(event.item)}`
      : `continues in the background: task ${event.task}`
  const room = columns === undefined ? undefined : columns - about.length - tagWidth(start) - 4
  const name = fitting(oneLine(start.name), share(room, 0.6))
  const args = brief(start, room === undefined ? undefined : room - widthOf(name) - 1)
  return `${palette.yellow('◇')} ${tag(start, palette)}${palette.bold(name)}${args === '' ? '' : ` ${palette.dim(args)}`}  ${palette.yellow(about)}`
}

/** Formats milliseconds. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  return ms < 60_000
    ? `${(ms / 1_000).toFixed(1)} s`
    : `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`
}

function tag({ number }: Pick<Of<'start'>, 'number'>, palette: Palette): string {
  return number === undefined ? '' : palette.dim(`[${number}] `)
}

function tagWidth({ number }: Pick<Of<'start'>, 'number'>): number {
  return number === undefined ? 0 : String(number).length + 3
}

function brief({ arguments: args }: Of<'start'>, room: number | undefined): string {
  if (Object.keys(args).length === 0 || (room !== undefined && room < 6)) return ''
  return fitting(oneLine(JSON.stringify(args)), room)
}

function resultText({ result }: Of<'end'>, length: number, palette: Palette): string {
  return oneLine(result.content.map((entry) => block(entry, palette)).join(' '), length)
}

function share(columns: number | undefined, part: number): number | undefined {
  return columns === undefined ? undefined : Math.floor(columns * part)
}
