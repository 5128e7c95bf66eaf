import { type FormField, shownValue } from '@jackfield/host'
import { truncate, wrapText } from '../output/flow.ts'
import type { Palette } from '../output/palette.ts'
import { count, oneLine } from '../output/sanitize.ts'
import { widthOf } from '../output/width.ts'
import type { FormAction, FormModel } from './form-model.ts'
import type { OptionList } from './option-list.ts'
import type { ScreenFrame, ScreenView } from './screen.ts'
import { visibleText, visibleWindow } from './typed-text.ts'

/** Terminal width from which a value is beside its label. */
const minWideColumns = 64
const maxLabelColumns = 26
/** Terminal height from which everything is always shown. */
const minTallRows = 20
/** Maximum lines of a field's description. */
const maxHelpLines = 6

interface Block {
  lines: string[]
  cursor?: { row: number; column: number }
}

/** A form that is filled in until an action is chosen; it cannot be reviewed with errors. */
export function formScreen(model: FormModel, palette: Palette): ScreenView<FormAction> {
  return {
    draw: (columns, rows) => drawForm(model, columns, rows, palette),
    press(key) {
      const done = model.press(key)
      return done === undefined || (done === 'review' && model.showErrors()) ? undefined : { done }
    },
  }
}

/** Draws a form that fits the terminal: as many fields with values as there is room for around the focus. */
export function drawForm(model: FormModel, columns: number, rows: number, palette: Palette): ScreenFrame {
  const bar = palette.cyan('│')
  const room = Math.max(8, columns - 4)
  const required = model.fields.some((field) => field.required) ? '; * required' : ''
  const head = truncate(`${count(model.fields.length, 'field')}${required}`, room)
  const note = model.note === undefined ? [] : wrapLines(model.note, room).slice(0, 3)
  const all = actionLines(model, room, palette)
  // In a small terminal, the buttons are hidden during editing.
  const actions =
    model.list !== undefined ? [] : model.action === undefined && rows < minTallRows ? all.slice(0, 1) : all
  const keys = wrapLines(keyHints(model), room).map((line) => palette.dim(line))
  const around = 1 + 1 + note.length + actions.length + keys.length
  const body = drawFields(model, room, Math.max(3, rows - 1 - around), palette)
  const lines = [
    `${palette.cyan('◆')}  ${palette.bold(head)}`,
    ...body.lines.map((line) => `${bar}  ${line}`.trimEnd()),
    bar,
    ...note.map((line) => `${bar}  ${palette.yellow(line)}`),
    ...actions.map((line) => `${bar}  ${line}`),
    ...keys.map((line, n) => `${n === keys.length - 1 ? palette.cyan('└') : bar}  ${line}`),
  ]
  const cursor = body.cursor && { row: body.cursor.row + 1, column: body.cursor.column + 3 }
  return { lines: lines.slice(0, Math.max(1, rows - 1)), ...(cursor !== undefined && { cursor }) }
}

/** The fields around the focus that fit. */
function drawFields(model: FormModel, room: number, height: number, palette: Palette): Block {
  const blocks = model.fields.map((_, n) => drawField(model, n, room, height - 2, palette))
  const total = blocks.reduce((sum, { lines }) => sum + lines.length, 0)
  const focus = Math.min(model.focus, blocks.length - 1)
  const maxLines = total <= height ? height : Math.max(1, height - 2)
  let [from, to] = [focus, focus + 1]
  let used = Math.min(blocks[focus]?.lines.length ?? 0, maxLines)
  for (;;) {
    const above = blocks[from - 1]?.lines.length
    const below = blocks[to]?.lines.length
    if (below !== undefined && used + below <= maxLines) {
      used += below
      to += 1
    } else if (above !== undefined && used + above <= maxLines) {
      used += above
      from -= 1
    } else break
  }
  const lines = from === 0 ? [] : [palette.dim(`↑ ${from} more`)]
  let cursor: Block['cursor']
  for (const one of blocks.slice(from, to)) {
    if (one.cursor !== undefined) cursor = { row: lines.length + one.cursor.row, column: one.cursor.column }
    lines.push(...one.lines.slice(0, maxLines))
  }
  if (to < blocks.length) lines.push(palette.dim(`↓ ${blocks.length - to} more`))
  return { lines, ...(cursor !== undefined && { cursor }) }
}

/** One field: label and value, and below the focused one its description and choices. */
function drawField(model: FormModel, n: number, room: number, height: number, palette: Palette): Block {
  const field = model.fields[n]
  if (field === undefined) return { lines: [] }
  const focused = model.focus === n
  const wide = room + 4 >= minWideColumns
  const mark = focused ? palette.cyan('›') : ' '
  const labelRoom = wide ? labelColumns(model.fields) : room - 2
  const label = truncate(`${oneLine(field.label)}${field.required ? ' *' : ''}`, labelRoom)
  const shown = focused ? palette.bold(label) : label
  const indent = wide ? labelRoom + 4 : 4
  const value = drawValue(model, n, Math.max(4, room - indent), palette)
  const first = wide
    ? [`${mark} ${shown}${' '.repeat(labelRoom - widthOf(label))}  ${value.text}`]
    : [`${mark} ${shown}`, `    ${value.text}`]
  const lines = first.map((line) => line.trimEnd())
  let cursor =
    value.column === undefined ? undefined : { row: lines.length - 1, column: indent + value.column }
  const fault = model.visibleError(n)
  if (fault !== undefined)
    lines.push(...wrapLines(`✗ ${oneLine(fault)}`, room - 4).map((line) => `    ${palette.red(line)}`))
  if (!focused) return { lines }
  if (model.list !== undefined) {
    const list = listLines(model.list, room - 4, Math.max(2, height - lines.length), palette)
    cursor = { row: lines.length, column: 4 + list.column }
    lines.push(...list.lines.map((line) => `    ${line}`))
    return { lines, cursor }
  }
  const help = helpTexts(field).flatMap((text) => wrapLines(text, room - 4))
  const shortened = help.length <= maxHelpLines ? help : [...help.slice(0, maxHelpLines - 1), '…']
  lines.push(...shortened.map((line) => `    ${palette.dim(line)}`))
  return { lines, ...(cursor !== undefined && { cursor }) }
}

function labelColumns(fields: readonly FormField[]): number {
  const widths = fields.map(({ label, required }) => widthOf(oneLine(label)) + (required ? 2 : 0))
  return Math.min(maxLabelColumns, Math.max(...widths))
}

function drawValue(
  model: FormModel,
  n: number,
  room: number,
  palette: Palette,
): { text: string; column?: number } {
  const field = model.fields[n]
  if (field === undefined) return { text: '' }
  const line = model.line(n)
  const value = model.value(n)
  const focused = model.focus === n && model.list === undefined
  if (line !== undefined && line.text !== '') {
    if (!focused) return { text: truncate(visibleText(line.text.slice(0, 2_000)), room) }
    const { shown, column } = visibleWindow(line, room)
    return { text: shown, column }
  }
  const empty =
    field.default !== undefined ? `(default: ${oneLine(shownValue(field, field.default))})` : emptyHint(field)
  if (line !== undefined) return { text: palette.dim(truncate(empty, room)), ...(focused && { column: 0 }) }
  if (value === undefined) return { text: palette.dim(truncate(empty, room)) }
  return { text: truncate(oneLine(shownValue(field, value)), room) }
}

function emptyHint(field: FormField): string {
  if (field.omissible) return '(left out)'
  return field.kind === 'boolean' ? '(yes or no)' : field.choices === undefined ? '' : '(choose)'
}

function helpTexts({ description, constraint, secret }: FormField): string[] {
  return [
    ...(description === undefined ? [] : [oneLine(description)]),
    ...(constraint === undefined ? [] : [constraint]),
    ...(secret === undefined ? [] : [`! It seems to ask for ${secret}. It would be sent as plain text.`]),
  ]
}

function listLines(
  list: OptionList,
  room: number,
  height: number,
  palette: Palette,
): { lines: string[]; column: number } {
  const { shown, at, options, filter, selected } = list
  const entries =
    shown.length === options.length ? `${options.length}` : `${shown.length} of ${options.length}`
  const typed = visibleWindow({ text: filter, cursor: filter.length }, Math.max(6, room - 20))
  const head = `find: ${typed.shown}`
  const rows = Math.max(1, height - 1)
  const from = Math.max(0, Math.min(at - Math.floor(rows / 2), shown.length - rows))
  const lines = shown.slice(from, from + rows).map(({ label, hint, value }, n) => {
    const here = from + n === at
    const tick = selected === undefined ? '' : value !== undefined && selected.has(value) ? '◼ ' : '◻ '
    const sent = hint === undefined ? '' : ` (sent as ${hint})`
    const text = truncate(`${tick}${label}${sent}`, room - 2)
    return here ? `${palette.cyan('●')} ${palette.bold(text)}` : `  ${palette.dim(text)}`
  })
  const none = shown.length === 0 ? [palette.dim('  no match')] : []
  return {
    lines: [
      `${head}  ${palette.dim(truncate(`(${entries})`, Math.max(4, room - widthOf(head) - 2)))}`,
      ...lines,
      ...none,
    ],
    column: 6 + typed.column,
  }
}

/** The buttons, on as many lines as they need. */
function actionLines(model: FormModel, room: number, palette: Palette): string[] {
  const lines = ['']
  let width = 0
  for (const { value, label } of model.actions) {
    const here = model.action === value
    const more = label.length + 4
    if (width + more > room && width > 0) {
      lines.push('')
      width = 0
    }
    lines[lines.length - 1] += `${here ? palette.cyan(`[${palette.bold(label)}]`) : ` ${label} `}  `
    width += more
  }
  return lines.map((line) => line.trimEnd())
}

function keyHints(model: FormModel): string {
  const { list, action, actions, fields, focus } = model
  const escapeHint = actions.some(({ value }) => value === 'later') ? 'esc later' : 'esc cancel'
  if (list !== undefined) {
    const acceptHint = list.selected === undefined ? 'enter choose' : 'space tick · enter done'
    return `↑↓ move · type to find · ${acceptHint} · esc back`
  }
  if (action !== undefined) {
    const keys = model.actions.map(({ key, short }) => `${key} ${short}`)
    return `←→ move · enter · ${keys.join(' · ')} · ${escapeHint}`
  }
  const kind = fields[focus]?.kind
  const change =
    kind === 'boolean'
      ? 'space or y/n change'
      : kind === 'choice' || kind === 'choices'
        ? 'enter choose'
        : 'type to change · enter next'
  return `↑↓ tab move · ${change} · ${escapeHint}`
}

function wrapLines(text: string, columns: number): string[] {
  return wrapText(text, Math.max(10, columns), 0, 0).split('\n')
}
