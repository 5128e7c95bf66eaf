import {
  type ElicitFormParams,
  type ElicitResult,
  type ElicitSchema,
  type ElicitValue,
  fillDefaults,
} from '@jackfield/sdk'
import { oneLine, plain } from '../output/sanitize.ts'
import { type Field, planForm, problemWith, readTyped } from './fields.ts'
import { type Cancelled, cancelled, type Prompter } from './prompter.ts'

type Values = Map<string, ElicitValue>

/**
 * Puts a server's form to the person, field by field, then shows all answers for review. Accept, decline and cancel
 * are three choices; leaving any question with Esc is cancel.
 */
export async function askForm(
  params: ElicitFormParams,
  server: string,
  prompter: Prompter,
): Promise<ElicitResult> {
  const plan = planForm(params.requestedSchema)
  prompter.say([`${oneLine(server)} asks:`, ...plain(params.message).split('\n')])
  if ('fault' in plan) {
    prompter.say([`The form cannot be shown, so it cannot be filled in: ${oneLine(plan.fault)}.`])
    return refuse(prompter)
  }
  const { fields } = plan
  if (fields.some((field) => field.sensitive)) {
    const names = fields.filter((field) => field.sensitive).map((field) => oneLine(field.label))
    prompter.say([
      `Careful: ${names.join(', ')} looks like a secret. Servers must not ask for secrets in a form; what you type`,
      'reaches the server and may be logged. Decline unless you are sure.',
    ])
  }
  const start = await prompter.select({
    message: fields.length === 0 ? 'Agree?' : 'Answer this?',
    options: [
      {
        value: 'answer',
        label:
          fields.length === 0
            ? 'Yes, accept'
            : `Answer (${fields.length} ${fields.length === 1 ? 'field' : 'fields'})`,
      },
      { value: 'decline', label: 'Decline', hint: 'tell the server no' },
      { value: 'cancel', label: 'Cancel', hint: 'leave it unanswered' },
    ],
    initial: fields.some((field) => field.sensitive) ? 'decline' : 'answer',
  })
  if (start === 'decline') return { action: 'decline' }
  if (start !== 'answer') return { action: 'cancel' }
  if (fields.length === 0) return { action: 'accept', content: {} }
  return fillIn(params.requestedSchema, fields, prompter)
}

async function refuse(prompter: Prompter): Promise<ElicitResult> {
  const choice = await prompter.select({
    message: 'What should the server be told?',
    options: [
      { value: 'decline', label: 'Decline', hint: 'tell the server no' },
      { value: 'cancel', label: 'Cancel', hint: 'leave it unanswered' },
    ],
  })
  return { action: choice === 'decline' ? 'decline' : 'cancel' }
}

async function fillIn(schema: ElicitSchema, fields: Field[], prompter: Prompter): Promise<ElicitResult> {
  const values: Values = new Map()
  for (;;) {
    for (const field of fields) {
      const answer = await askField(field, values.get(field.key), prompter)
      if (answer === cancelled) return { action: 'cancel' }
      if (answer === undefined) values.delete(field.key)
      else values.set(field.key, answer)
    }
    // Clients send a form's defaults for what is left out, so they belong in the review.
    const content = fillDefaults(schema, Object.fromEntries(values))
    prompter.say(['This is what will be sent:', ...review(fields, new Map(Object.entries(content)))])
    const next = await prompter.select({
      message: 'Send it?',
      options: [
        { value: 'send', label: 'Send' },
        { value: 'edit', label: 'Change an answer' },
        { value: 'decline', label: 'Decline', hint: 'tell the server no' },
        { value: 'cancel', label: 'Cancel', hint: 'leave it unanswered' },
      ],
    })
    if (next === 'send') return { action: 'accept', content }
    if (next === 'decline') return { action: 'decline' }
    if (next !== 'edit') return { action: 'cancel' }
  }
}

/** What the fields hold, one line each. */
export function review(fields: readonly Field[], values: ReadonlyMap<string, ElicitValue>): string[] {
  return fields.map((field) => {
    const value = values.get(field.key)
    return `  ${oneLine(field.label)}: ${value === undefined ? '(left out)' : shown(field, value)}`
  })
}

function shown(field: Field, value: ElicitValue): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  const label = (entry: string): string =>
    oneLine(field.choices?.find((choice) => choice.value === entry)?.label ?? entry)
  return Array.isArray(value) ? value.map(label).join(', ') || '(none)' : label(String(value))
}

const leftOut = '\u0000'

async function askField(
  field: Field,
  before: ElicitValue | undefined,
  prompter: Prompter,
): Promise<ElicitValue | undefined | Cancelled> {
  const message = messageOf(field)
  const current = before ?? field.default
  if (field.schema.type === 'array') {
    return askChoices(field, message, Array.isArray(current) ? current : [], prompter)
  }
  if (field.schema.type === 'boolean') {
    const answer = await prompter.select({
      message,
      options: [{ value: 'yes', label: 'Yes' }, { value: 'no', label: 'No' }, ...leaveOut(field)],
      // Yes is never where Enter alone leads, unless the server's default says so.
      initial: current === true ? 'yes' : current === false || field.required ? 'no' : leftOut,
    })
    if (answer === cancelled) return cancelled
    return answer === leftOut ? undefined : answer === 'yes'
  }
  if (field.choices !== undefined) {
    const answer = await prompter.select({
      message,
      options: [...field.choices.map(safe), ...leaveOut(field)],
      ...(typeof current === 'string' ? { initial: current } : !field.required && { initial: leftOut }),
    })
    return answer === leftOut ? undefined : answer
  }
  const typed = await prompter.text({
    message,
    ...(current !== undefined && { initial: String(current) }),
    placeholder: placeholderOf(field),
    validate: (text) => {
      const read = readTyped(field, text)
      return 'problem' in read ? read.problem : undefined
    },
  })
  if (typed === cancelled) return cancelled
  const read = readTyped(field, typed)
  return 'problem' in read ? cancelled : read.value
}

async function askChoices(
  field: Field,
  message: string,
  initial: string[],
  prompter: Prompter,
): Promise<string[] | undefined | Cancelled> {
  for (;;) {
    const answer = await prompter.multiselect({
      message,
      options: (field.choices ?? []).map(safe),
      initial,
      required: false,
    })
    if (answer === cancelled) return cancelled
    if (answer.length === 0 && !field.required) return undefined
    const problem = problemWith(field, answer)
    if (problem === undefined) return answer
    prompter.say([problem])
  }
}

function leaveOut(field: Field): { value: string; label: string }[] {
  return field.required || field.default !== undefined ? [] : [{ value: leftOut, label: '(leave out)' }]
}

function safe<T extends { label: string }>(choice: T): T {
  return { ...choice, label: oneLine(choice.label) }
}

function messageOf(field: Field): string {
  const optional = field.required ? '' : ' (optional)'
  const label = `${oneLine(field.label)}${optional}`
  return field.description === undefined ? label : `${label}: ${oneLine(field.description)}`
}

const formats: Readonly<Record<string, string>> = {
  email: 'ada@example.org',
  uri: 'https://…',
  date: 'YYYY-MM-DD',
  'date-time': 'YYYY-MM-DDThh:mm:ssZ',
}

function placeholderOf({ schema, required }: Field): string {
  if (schema.type === 'number' || schema.type === 'integer') {
    const bounds = [
      schema.minimum === undefined ? undefined : `at least ${schema.minimum}`,
      schema.maximum === undefined ? undefined : `at most ${schema.maximum}`,
    ].filter((bound) => bound !== undefined)
    return [schema.type === 'integer' ? 'a whole number' : 'a number', ...bounds].join(', ')
  }
  const format = 'format' in schema && schema.format !== undefined ? formats[schema.format] : undefined
  return format ?? (required ? '' : 'empty to leave out')
}
