import { blockText } from '../output/content.ts'
import { truncate } from '../output/flow.ts'
import { shortId } from '../output/inbox.ts'
import type { Palette } from '../output/palette.ts'
import { oneLine, plain } from '../output/sanitize.ts'
import { widthOf } from '../output/width.ts'
import type { CallEvent } from './conversation-view.ts'

type CallEventOf<T extends CallEvent['type']> = Extract<CallEvent, { type: T }>

const maxArgumentCharacters = 300

/** A tool call on one line. Arguments that do not fit are counted. */
export function callLine(event: CallEventOf<'start'>, palette: Palette): string {
  const json = plain(JSON.stringify(event.arguments))
  const rest = json.length - maxArgumentCharacters
  const args =
    rest > 0 ? `${json.slice(0, maxArgumentCharacters)}… (${rest} more characters; /show shows all)` : json
  return `${palette.cyan('→')} ${numberTag(event, palette)}${palette.bold(oneLine(event.name))} ${palette.dim(args)}`
}

/** The status of a finished call and the start of its result. */
export function callEndLine(event: CallEventOf<'end'>, ms: number | undefined, palette: Palette): string {
  const text = resultText(event, 160, palette)
  const after = ms === undefined ? '' : ` ${palette.dim(`(${duration(ms)})`)}`
  if (event.denied) return `${palette.yellow('✗ denied')} ${palette.dim(text)}`
  return event.result.isError === true
    ? `${palette.red('✗ failed')} ${palette.dim(text)}${after}`
    : `${palette.green('✓')} ${palette.dim(text)}${after}`
}

/** A running call as a line that is redrawn: `◌ name {…}  3 of 10`. */
export function runningCallLine(
  event: CallEventOf<'start'>,
  state: string,
  palette: Palette,
  columns: number | undefined,
): string {
  const name = truncate(oneLine(event.name), fractionOf(columns, 0.5))
  const about = truncate(oneLine(state), fractionOf(columns, 0.4))
  const room =
    columns === undefined ? undefined : columns - widthOf(name) - widthOf(about) - tagWidth(event) - 6
  const args = argumentsText(event, room)
  return `${palette.cyan('◌')} ${numberTag(event, palette)}${palette.bold(name)}${args === '' ? '' : ` ${palette.dim(args)}`}${about === '' ? '' : `  ${palette.dim(about)}`}`
}

/** A finished call: `✓ name {…}  120 ms · 3 flights`. */
export function finishedCallLine(
  start: CallEventOf<'start'>,
  end: CallEventOf<'end'>,
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
  const name = truncate(oneLine(start.name), fractionOf(columns, 0.4))
  const facts = [word, ms === undefined ? '' : duration(ms)].filter((part) => part !== '').join(' ')
  const room = columns === undefined ? 120 : columns - widthOf(name) - facts.length - tagWidth(start) - 8
  const args = argumentsText(start, Math.floor(room / 2))
  const result = truncate(resultText(end, 400, palette), Math.max(0, room - widthOf(args)))
  const parts = [facts, result].filter((part) => part !== '').join(' · ')
  return `${mark} ${numberTag(start, palette)}${palette.bold(name)}${args === '' ? '' : ` ${palette.dim(args)}`}${parts === '' ? '' : `  ${palette.dim(parts)}`}`
}

/** A call whose result is deferred: `◇ name {…}  waits for you: /respond 7244c9a7`. */
export function deferredCallLine(
  start: CallEventOf<'start'>,
  event: CallEventOf<'later'> | CallEventOf<'task'>,
  palette: Palette,
  columns: number | undefined,
): string {
  const about =
    event.type === 'later'
      ? `waits for you: /respond ${shortId(event.item)}`
      : `continues in the background: task ${event.task}`
  const room = columns === undefined ? undefined : columns - about.length - tagWidth(start) - 4
  const name = truncate(oneLine(start.name), fractionOf(room, 0.6))
  const args = argumentsText(start, room === undefined ? undefined : room - widthOf(name) - 1)
  return `${palette.yellow('◇')} ${numberTag(start, palette)}${palette.bold(name)}${args === '' ? '' : ` ${palette.dim(args)}`}  ${palette.yellow(about)}`
}

/** Formats milliseconds. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  return ms < 60_000
    ? `${(ms / 1_000).toFixed(1)} s`
    : `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`
}

function numberTag({ number }: Pick<CallEventOf<'start'>, 'number'>, palette: Palette): string {
  return number === undefined ? '' : palette.dim(`[${number}] `)
}

function tagWidth({ number }: Pick<CallEventOf<'start'>, 'number'>): number {
  return number === undefined ? 0 : String(number).length + 3
}

function argumentsText({ arguments: args }: CallEventOf<'start'>, room: number | undefined): string {
  if (Object.keys(args).length === 0 || (room !== undefined && room < 6)) return ''
  return truncate(oneLine(JSON.stringify(args)), room)
}

function resultText({ result }: CallEventOf<'end'>, length: number, palette: Palette): string {
  return oneLine(result.content.map((entry) => blockText(entry, palette)).join(' '), length)
}

function fractionOf(columns: number | undefined, part: number): number | undefined {
  return columns === undefined ? undefined : Math.floor(columns * part)
}
