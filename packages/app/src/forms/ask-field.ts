import { type FormField, problemWithField, readTyped } from '@jackfield/host'
import type { ElicitValue } from '@jackfield/sdk'
import { oneLine } from '../output/sanitize.ts'
import { type Cancelled, cancelled, type Prompter } from './prompter.ts'

/** Asks for one field until the answer is valid; undefined leaves it out. `before`: its current value. */
export async function askField(
  field: FormField,
  before: ElicitValue | undefined,
  prompter: Prompter,
): Promise<ElicitValue | undefined | Cancelled> {
  const message = fieldMessage(field)
  switch (field.kind) {
    case 'boolean':
      return askYesOrNo(field, message, before, prompter)
    case 'choice':
      return askChoice(field, message, before, prompter)
    case 'choices':
      return askChoices(field, message, Array.isArray(before) ? before : [], prompter)
    default:
      return askTyped(field, message, before, prompter)
  }
}

async function askTyped(
  field: FormField,
  message: string,
  before: ElicitValue | undefined,
  prompter: Prompter,
): Promise<ElicitValue | undefined | Cancelled> {
  const typed = await prompter.text({
    message,
    ...(before !== undefined && { initial: String(before) }),
    placeholder: field.omissible ? 'empty to leave out' : '',
    validate: (text) => {
      const read = readTyped(field, text)
      return 'problem' in read ? oneLine(read.problem) : undefined
    },
  })
  if (typed === cancelled) return cancelled
  const read = readTyped(field, typed)
  return 'problem' in read ? cancelled : read.value
}

async function askYesOrNo(
  field: FormField,
  message: string,
  before: ElicitValue | undefined,
  prompter: Prompter,
): Promise<ElicitValue | undefined | Cancelled> {
  // Enter alone never selects yes, unless it was chosen before or is the server's default.
  const answer = await prompter.select({
    message,
    options: [{ value: 'yes', label: 'Yes' }, { value: 'no', label: 'No' }, ...omitOption(field)],
    initial: before === true ? 'yes' : before === false || !field.omissible ? 'no' : omitValue,
  })
  if (answer === cancelled) return cancelled
  return answer === omitValue ? undefined : answer === 'yes'
}

async function askChoice(
  field: FormField,
  message: string,
  before: ElicitValue | undefined,
  prompter: Prompter,
): Promise<ElicitValue | undefined | Cancelled> {
  const options = [...optionsOf(field), ...omitOption(field)]
  if (options.length === 0) return undefined
  const at = field.choices?.findIndex(({ value }) => value === before) ?? -1
  const initial = at >= 0 ? optionKey(at) : field.omissible ? omitValue : undefined
  const answer = await prompter.select({ message, options, ...(initial !== undefined && { initial }) })
  if (answer === cancelled) return cancelled
  return valueAt(field, answer)
}

async function askChoices(
  field: FormField,
  message: string,
  before: readonly string[],
  prompter: Prompter,
): Promise<ElicitValue | undefined | Cancelled> {
  const options = optionsOf(field)
  if (options.length === 0) return field.omissible ? undefined : []
  let initial = (field.choices ?? []).flatMap(({ value }, n) =>
    before.includes(value) ? [optionKey(n)] : [],
  )
  for (;;) {
    const answer = await prompter.multiselect({ message, options, initial, required: false })
    if (answer === cancelled) return cancelled
    if (answer.length === 0 && field.omissible) return undefined
    const values = answer.flatMap((one) => valueAt(field, one) ?? [])
    const problem = problemWithField(field, values)
    if (problem === undefined) return values
    prompter.say([oneLine(problem)])
    initial = answer
  }
}

// Choices are identified by number, since their values come from the server.
const omitValue = 'none'
const optionKey = (n: number): string => `${n + 1}`

function optionsOf(field: FormField): { value: string; label: string; hint?: string }[] {
  return (field.choices ?? []).map(({ value, label }, n) => ({
    value: optionKey(n),
    label: oneLine(label) || '(empty)',
    ...(label !== value && { hint: `sent as ${oneLine(value, 60)}` }),
  }))
}

function valueAt(field: FormField, option: string): string | undefined {
  return field.choices?.find((_, n) => optionKey(n) === option)?.value
}

function omitOption(field: FormField): { value: string; label: string }[] {
  return field.omissible ? [{ value: omitValue, label: '(leave out)' }] : []
}

function fieldMessage(field: FormField): string {
  const label = `${oneLine(field.label)}${field.required ? '' : ' (optional)'}`
  const description = field.description === undefined ? '' : oneLine(field.description)
  const ended = description === '' || /[.!?。]$/.test(description) ? description : `${description}.`
  const more = [ended, field.constraint ?? ''].filter((part) => part !== '')
  return more.length === 0 ? label : `${label}: ${more.join(' ')}`
}
