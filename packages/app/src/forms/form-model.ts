import { type FormField, problemWithField, readTyped } from '@jackfield/host'
import type { ElicitValue } from '@jackfield/sdk'
import { oneLine } from '../output/sanitize.ts'
import { applyKey, insertText, type Line, maxTyped } from './line-edit.ts'
import { type ListOption, OptionList } from './option-list.ts'
import type { ScreenKey } from './screen.ts'

/** Actions on the form as a whole. */
export type FormAction = 'review' | 'decline' | 'decline-why' | 'cancel' | 'later'

/** A button of a form. */
export interface FormButton {
  value: FormAction
  label: string
  key: string
  short: string
}

/** The buttons of a form, in display order. */
export const formButtons: readonly FormButton[] = [
  { value: 'review', label: 'Review and send', key: 'r', short: 'review' },
  { value: 'decline', label: 'Decline', key: 'd', short: 'decline' },
  { value: 'decline-why', label: 'Decline, note why', key: 'w', short: 'note why' },
  { value: 'cancel', label: 'Cancel', key: 'c', short: 'cancel' },
  { value: 'later', label: 'Later', key: 'l', short: 'later' },
]

/** The value of a field during editing. */
type FieldEntry = { readonly line: Line } | { readonly value: ElicitValue | undefined }

/** A form on one screen: values, focus and errors. */
export class FormModel {
  readonly fields: readonly FormField[]
  /** The buttons below the fields. */
  readonly actions: readonly FormButton[]
  readonly #entries: FieldEntry[]
  readonly #touched = new Set<number>()
  #focus = 0
  #list: OptionList | undefined
  #note: string | undefined

  /** `values`: initial values, which override the server's defaults. */
  constructor(
    fields: readonly FormField[],
    values: ReadonlyMap<string, ElicitValue>,
    actions: readonly FormButton[] = formButtons,
  ) {
    this.fields = fields
    this.actions = actions
    this.#entries = fields.map((field) => entryOf(field, values.get(field.key) ?? field.default))
  }

  /** The focused field or, after the last field, button. */
  get focus(): number {
    return this.#focus
  }

  /** The open list of choices of the focused field. */
  get list(): OptionList | undefined {
    return this.#list
  }

  /** The focused button. */
  get action(): FormAction | undefined {
    return this.actions[this.#focus - this.fields.length]?.value
  }

  /** A message about the form as a whole. */
  get note(): string | undefined {
    return this.#note
  }

  /** The text of a text field; undefined for others. */
  line(n: number): Line | undefined {
    const entry = this.#entries[n]
    return entry !== undefined && 'line' in entry ? entry.line : undefined
  }

  /** The value of a field as it would be sent; undefined if it is left out or invalid. */
  value(n: number): ElicitValue | undefined {
    const [field, entry] = [this.fields[n], this.#entries[n]]
    if (field === undefined || entry === undefined) return undefined
    if ('value' in entry) return entry.value
    const read = readTyped(field, entry.line.text)
    return 'value' in read ? read.value : undefined
  }

  /** All values by field name. */
  values(): Map<string, ElicitValue> {
    return new Map(
      this.fields.flatMap(({ key }, n): [string, ElicitValue][] => {
        const value = this.value(n)
        return value === undefined ? [] : [[key, value]]
      }),
    )
  }

  /** The error of a field, for display. */
  error(n: number): string | undefined {
    const [field, entry] = [this.fields[n], this.#entries[n]]
    if (field === undefined || entry === undefined) return undefined
    if ('value' in entry) return problemWithField(field, entry.value)
    const read = readTyped(field, entry.line.text)
    return 'problem' in read ? read.problem : undefined
  }

  /** The same, only for fields that the user has visited. */
  visibleError(n: number): string | undefined {
    return this.#touched.has(n) ? this.error(n) : undefined
  }

  /** Shows all errors and focuses the first invalid field; false if there is none. */
  showErrors(): boolean {
    const first = this.fields.findIndex((_, n) => this.error(n) !== undefined)
    for (const n of this.fields.keys()) this.#touched.add(n)
    if (first === -1) return false
    this.#focus = first
    return true
  }

  /** Shows a message about the form as a whole, until the next key. */
  setNote(note: string): void {
    this.#note = note
  }

  /** Focuses the first field, for changing the answers. */
  focusFirst(): void {
    this.#focus = 0
  }

  /** Handles one key; returns the action it triggers, if any. */
  press(key: ScreenKey): FormAction | undefined {
    const { name, ctrl = false, shift = false } = key
    this.#note = undefined
    if (ctrl && (name === 'c' || name === 'd')) return 'cancel'
    if (ctrl && name === 'l') return 'later'
    if (this.#list !== undefined) return this.#pressInList(this.#list, key)
    if (name === 'escape') return 'later'
    if (name === 'down' || (name === 'tab' && !shift)) return this.#moveFocus(1)
    if (name === 'up' || name === 'tab') return this.#moveFocus(-1)
    const { action } = this
    return action === undefined ? this.#pressInField(key) : this.#pressOnButton(action, key)
  }

  #moveFocus(by: 1 | -1): undefined {
    if (this.#focus < this.fields.length) this.#touched.add(this.#focus)
    const count = this.fields.length + this.actions.length
    this.#focus = (this.#focus + by + count) % count
    return undefined
  }

  #pressOnButton(action: FormAction, { name, typed }: ScreenKey): FormAction | undefined {
    if (name === 'return' || name === 'enter' || name === 'space') return action
    if (name === 'left') return this.#moveFocus(-1)
    if (name === 'right') return this.#moveFocus(1)
    return this.actions.find(({ key }) => key === typed)?.value
  }

  #pressInField(key: ScreenKey): undefined {
    const n = this.#focus
    const [field, entry] = [this.fields[n], this.#entries[n]]
    if (field === undefined || entry === undefined) return undefined
    if ('line' in entry) return this.#editText(n, entry.line, key)
    if (field.kind === 'boolean') return this.#pressInBoolean(n, field, entry.value, key)
    return this.#pressInChoice(n, field, entry.value, key)
  }

  #editText(n: number, line: Line, key: ScreenKey): undefined {
    if (key.name === 'return' || key.name === 'enter') return this.#moveFocus(1)
    const moved = applyKey(line, key)
    if (moved !== undefined) return this.#setEntry(n, { line: moved })
    const { typed, ctrl, meta } = key
    if (typed === undefined || ctrl === true || meta === true) return undefined
    const { line: next, isCut } = insertText(line, typed)
    if (isCut) this.#note = `Only ${maxTyped.toLocaleString('en')} characters fit; the rest was left out.`
    return this.#setEntry(n, { line: next })
  }

  #pressInBoolean(
    n: number,
    field: FormField,
    value: ElicitValue | undefined,
    { name, typed }: ScreenKey,
  ): undefined {
    if (name === 'return' || name === 'enter') return this.#moveFocus(1)
    if (typed === 'y' || typed === 'n') return this.#setEntry(n, { value: typed === 'y' })
    if ((name === 'backspace' || name === 'delete') && field.omissible)
      return this.#setEntry(n, { value: undefined })
    if (name !== 'space' && name !== 'left' && name !== 'right') return undefined
    return this.#setEntry(n, { value: nextBoolean(value, name === 'left', field.omissible) })
  }

  #pressInChoice(
    n: number,
    field: FormField,
    value: ElicitValue | undefined,
    { name, typed }: ScreenKey,
  ): undefined {
    if ((name === 'backspace' || name === 'delete') && field.omissible)
      return this.#setEntry(n, { value: undefined })
    const isOpening = name === 'return' || name === 'enter' || name === 'space' || name === 'right'
    if (!isOpening && typed === undefined) return undefined
    const isMultiple = field.kind === 'choices'
    const options: ListOption[] = [
      ...(field.choices ?? []).map((choice) => ({
        label: oneLine(choice.label) || '(empty)',
        value: choice.value,
        ...(choice.label !== choice.value && { hint: oneLine(choice.value, 60) }),
      })),
      ...(field.omissible && !isMultiple ? [{ label: '(leave out)', value: undefined }] : []),
    ]
    if (options.length === 0) return this.#moveFocus(1)
    const index = options.findIndex((option) => option.value === value)
    const selection = isMultiple ? [Array.isArray(value) ? value : []] : []
    this.#list = new OptionList(options, index, ...selection)
    if (!isOpening && typed !== undefined) this.#list.press({ typed })
    return undefined
  }

  #pressInList(list: OptionList, key: ScreenKey): undefined {
    const outcome = list.press(key)
    if (outcome === undefined) return undefined
    this.#list = undefined
    if (outcome === 'close') return undefined
    const n = this.#focus
    const field = this.fields[n]
    if (field === undefined) return undefined
    if (list.selected === undefined) this.#setEntry(n, { value: list.shown[list.at]?.value })
    else {
      // In form order, regardless of the order of selection.
      const all = new Set((field.choices ?? []).map(({ value }) => value))
      const values = [...all].filter((value) => list.selected?.has(value) === true)
      this.#setEntry(n, { value: values.length === 0 && field.omissible ? undefined : values })
    }
    return this.#moveFocus(1)
  }

  #setEntry(n: number, entry: FieldEntry): undefined {
    this.#entries[n] = entry
    this.#touched.add(n)
    return undefined
  }
}

/** The next or previous of omitted, no and yes. From omitted it is no, so that yes takes a second key. */
function nextBoolean(
  value: ElicitValue | undefined,
  isBack: boolean,
  isOmissible: boolean,
): ElicitValue | undefined {
  if (value === undefined) return false
  const atEnd = isBack ? value === false : value === true
  return atEnd && isOmissible ? undefined : value !== true
}

function entryOf({ kind, choices }: FormField, value: ElicitValue | undefined): FieldEntry {
  switch (kind) {
    case 'boolean':
      return { value: typeof value === 'boolean' ? value : undefined }
    case 'choice':
      return { value: choices?.some((choice) => choice.value === value) === true ? value : undefined }
    case 'choices':
      return { value: Array.isArray(value) ? value : undefined }
    default: {
      const text = value === undefined ? '' : String(value)
      return { line: { text, cursor: text.length } }
    }
  }
}
