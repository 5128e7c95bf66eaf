import { type FormField, finishForm, type HostAnswers, planForm, reviewForm } from '@jackfield/host'
import type { ElicitFormParams, ElicitValue } from '@jackfield/sdk'
import { findingLines } from '../output/definitions.ts'
import type { Palette } from '../output/palette.ts'
import { oneLine } from '../output/sanitize.ts'
import { askField } from './ask-field.ts'
import { type ElicitationQuestion, heading } from './heading.ts'
import { type Cancelled, cancelled, type Prompter } from './prompter.ts'
import { type Refusal, refusals, refused } from './refusals.ts'

type Answer = HostAnswers['elicitation']

const unsafe = 'It asked for a secret in a form. A page of its own (URL mode) is the way to ask for one.'

/**
 * Puts a server's form to the person, field by field, and shows all answers for review. Esc goes back a field, and
 * before the first is cancel; so is Ctrl+C anywhere.
 */
export async function askForm(
  question: ElicitationQuestion & { params: ElicitFormParams },
  prompter: Prompter,
  palette: Palette,
): Promise<Answer> {
  const { params, findings = [], remembered = {} } = question
  const plan = planForm(params.requestedSchema, params.message)
  prompter.say([
    ...heading(question, 'asks you for input', palette),
    ...findingLines(findings, palette),
    palette.dim('Only give what you trust this server with.'),
  ])
  if ('fault' in plan) {
    prompter.say([`The form cannot be filled in: ${oneLine(plan.fault)}.`])
    return refuse(prompter)
  }
  const { fields } = plan
  for (;;) {
    const start = await prompter.select<'answer' | Refusal>(startOf(question, fields))
    if (start !== 'answer') {
      const answer = await refused(start, prompter)
      if (answer === undefined) continue
      const secret = start === 'decline' && fields.some((field) => field.secret !== undefined)
      return secret ? { ...answer, reason: unsafe } : answer
    }
    if (fields.length === 0) return { action: 'accept', content: {} }
    return fillIn(params, fields, { ...remembered }, prompter)
  }
}

function startOf({ cause }: ElicitationQuestion, fields: readonly FormField[]) {
  const secret = fields.find((field) => field.secret !== undefined)?.secret
  const count = `${fields.length} ${fields.length === 1 ? 'field' : 'fields'}`
  if (secret !== undefined) {
    const label = `Go on all the same, and give ${secret} to ${oneLine(cause.server, 40)} and its logs as plain text (${count})`
    return {
      message: `This form seems to ask for ${secret}, which servers must not do. What now?`,
      options: [
        ...refusals('Decline: the server should ask for it on a page of its own'),
        { value: 'answer' as const, label },
      ],
      initial: 'decline' as const,
    }
  }
  const label = fields.length === 0 ? 'Yes, accept' : `Answer (${count})`
  return {
    message: fields.length === 0 ? 'Agree?' : 'Answer this?',
    options: [{ value: 'answer' as const, label }, ...refusals()],
    initial: 'answer' as const,
  }
}

async function refuse(prompter: Prompter): Promise<Answer> {
  for (;;) {
    const choice = await prompter.select<Refusal>({
      message: 'What should the server be told?',
      options: refusals(),
    })
    const answer = await refused(choice, prompter)
    if (answer !== undefined) return answer
  }
}

type Values = Map<string, ElicitValue>

async function fillIn(
  params: ElicitFormParams,
  fields: readonly FormField[],
  remembered: Readonly<Record<string, ElicitValue>>,
  prompter: Prompter,
): Promise<Answer> {
  const schema = params.requestedSchema
  const values: Values = new Map(Object.entries(remembered))
  let from = 0
  for (;;) {
    if ((await askFrom(from, fields, values, prompter)) === cancelled) return { action: 'cancel' }
    from = fields.length
    const finished = finishForm(schema, Object.fromEntries(values))
    if ('problem' in finished) {
      prompter.say([`This cannot be sent yet. ${oneLine(finished.problem)}`])
      from = 0
      continue
    }
    const { content } = finished
    const next = await review(fields, content, prompter)
    switch (next) {
      case 'send':
        return { action: 'accept', content }
      case 'remember': {
        const remember = await askRemember(fields, content, Object.keys(remembered), prompter)
        if (remember !== cancelled) return { action: 'accept', content, remember }
        if (!prompter.wentBack()) return { action: 'cancel' }
        break
      }
      case 'change':
        if ((await changeOne(fields, values, content, prompter)) === 'left') return { action: 'cancel' }
        break
      case cancelled:
        if (!prompter.wentBack()) return { action: 'cancel' }
        from = fields.length - 1
        break
      default: {
        const answer = await refused(next, prompter)
        if (answer !== undefined) return answer
      }
    }
  }
}

/** Asks field after field; Esc goes back one. */
async function askFrom(
  first: number,
  fields: readonly FormField[],
  values: Values,
  prompter: Prompter,
): Promise<Cancelled | undefined> {
  for (let n = first; n < fields.length; n++) {
    const field = fields[n]
    if (field === undefined) break
    const answer = await askField(field, values.get(field.key) ?? field.default, prompter)
    if (answer === cancelled) {
      if (n === 0 || !prompter.wentBack()) return cancelled
      n -= 2
    } else put(values, field, answer)
  }
  return undefined
}

function put(values: Values, { key }: FormField, value: ElicitValue | undefined): void {
  if (value === undefined) values.delete(key)
  else values.set(key, value)
}

type Next = 'send' | 'remember' | 'change' | Refusal

async function review(
  fields: readonly FormField[],
  content: Readonly<Record<string, ElicitValue>>,
  prompter: Prompter,
): Promise<Next | Cancelled> {
  const rows = reviewForm(fields, content)
  const lines = rows.map(({ label, value }) => `  ${oneLine(label)}: ${oneLine(value)}`)
  prompter.say(['This is what will be sent:', ...lines])
  return prompter.select<Next>({
    message: 'Send it?',
    options: [
      { value: 'send', label: 'Send' },
      { value: 'change', label: 'Change an answer…', hint: 'Esc goes back to the last one' },
      ...(rememberable(fields, content).length === 0
        ? []
        : [{ value: 'remember' as const, label: 'Send, and remember answers for the next time…' }]),
      ...refusals(),
    ],
    initial: 'send',
  })
}

/** Lets the person change one answer; 'left' where they closed the form. */
async function changeOne(
  fields: readonly FormField[],
  values: Values,
  content: Readonly<Record<string, ElicitValue>>,
  prompter: Prompter,
): Promise<'left' | undefined> {
  const rows = reviewForm(fields, content)
  const chosen = await prompter.select({
    message: 'Which answer?',
    options: rows.map(({ label, value }, n) => ({
      value: `${n}`,
      label: oneLine(label, 60),
      hint: oneLine(value, 60),
    })),
  })
  const field = chosen === cancelled ? undefined : fields[Number(chosen)]
  if (field === undefined) return prompter.wentBack() ? undefined : 'left'
  const answer = await askField(field, values.get(field.key) ?? field.default, prompter)
  if (answer !== cancelled) put(values, field, answer)
  else if (!prompter.wentBack()) return 'left'
  return undefined
}

function rememberable(
  fields: readonly FormField[],
  content: Readonly<Record<string, ElicitValue>>,
): readonly FormField[] {
  return fields.filter(({ key, secret }) => secret === undefined && Object.hasOwn(content, key))
}

async function askRemember(
  fields: readonly FormField[],
  content: Readonly<Record<string, ElicitValue>>,
  before: readonly string[],
  prompter: Prompter,
): Promise<string[] | Cancelled> {
  const offered = rememberable(fields, content)
  const chosen = await prompter.multiselect({
    message: 'Which answers should the next form of this server start with? Those left out are forgotten',
    options: offered.map(({ label }, n) => ({ value: `${n}`, label: oneLine(label, 60) })),
    initial: offered.flatMap(({ key }, n) => (before.includes(key) ? [`${n}`] : [])),
    required: false,
  })
  return chosen === cancelled ? cancelled : chosen.flatMap((n) => offered[Number(n)]?.key ?? [])
}
