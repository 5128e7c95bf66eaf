import { type FormField, finishForm, type HostAnswers, planForm } from '@jackfield/host'
import type { ElicitFormParams, ElicitValue } from '@jackfield/sdk'
import { findingLines } from '../output/definitions.ts'
import type { Palette } from '../output/palette.ts'
import { count, oneLine } from '../output/sanitize.ts'
import { askField } from './ask-field.ts'
import { fillOnScreen } from './ask-on-screen.ts'
import { askRemember, changeOne, type FormValues, type ReviewDecision, review } from './ask-review.ts'
import { type ElicitationQuestion, elicitationHeading } from './heading.ts'
import { laterChoice } from './later-choice.ts'
import { type Cancelled, cancelled, type Prompter } from './prompter.ts'
import { answerForRefusal, type Refusal, refusals } from './refusals.ts'

type Answer = HostAnswers['elicitation']

const unsafeReason =
  'It asked for a secret in a form. Secrets must be requested on a page of the server (URL mode).'

/**
 * Shows a server's form and then all answers for review before they are sent: on one screen, or field by field on simple
 * terminals, where Esc goes back a field. Undefined, as for Esc elsewhere, defers the form.
 */
export async function askForm(
  question: ElicitationQuestion & { params: ElicitFormParams },
  prompter: Prompter,
  palette: Palette,
): Promise<Answer | undefined> {
  const { params, findings = [], remembered = {} } = question
  const plan = planForm(params.requestedSchema, params.message)
  prompter.say([
    ...elicitationHeading(question, 'asks you for input', palette),
    ...findingLines(findings, palette),
    palette.dim('Enter only what you trust this server with.'),
  ])
  if ('fault' in plan) {
    prompter.say([`The form cannot be filled in: ${oneLine(plan.fault)}.`])
    return askRefusal(question, prompter)
  }
  const { fields } = plan
  const asksSecret = fields.some((field) => field.secret !== undefined)
  const { screen } = prompter
  const onScreen = screen !== undefined && fields.length > 0
  for (;;) {
    if (!onScreen || asksSecret) {
      const start = await prompter.select<'answer' | 'later' | Refusal>(
        startQuestion(question, fields, prompter),
      )
      if (start === 'later' || start === cancelled) return undefined
      if (start !== 'answer') {
        const answer = await answerForRefusal(start, prompter)
        if (answer === undefined) continue
        return start === 'decline' && asksSecret ? { ...answer, reason: unsafeReason } : answer
      }
    }
    if (fields.length === 0) return { action: 'accept', content: {} }
    return onScreen
      ? fillOnScreen(question, fields, { ...prompter, screen }, palette)
      : fillFieldByField(question, fields, { ...remembered }, prompter)
  }
}

function startQuestion({ id, cause }: ElicitationQuestion, fields: readonly FormField[], prompter: Prompter) {
  const secret = fields.find((field) => field.secret !== undefined)?.secret
  if (secret !== undefined) {
    const label = `Continue anyway and send ${secret} to ${oneLine(cause.server, 40)} and its logs as plain text (${count(fields.length, 'field')})`
    return {
      message: `This form seems to ask for ${secret}, which servers must not do. What now?`,
      options: [
        ...refusals('Decline: the server should request it on a page of its own'),
        { value: 'answer' as const, label },
        laterChoice(id, prompter),
      ],
      initial: 'decline' as const,
    }
  }
  const label = fields.length === 0 ? 'Yes, accept' : `Answer (${count(fields.length, 'field')})`
  return {
    message: fields.length === 0 ? 'Agree?' : 'Answer this?',
    options: [{ value: 'answer' as const, label }, ...refusals(), laterChoice(id, prompter)],
    initial: 'answer' as const,
  }
}

async function askRefusal({ id }: ElicitationQuestion, prompter: Prompter): Promise<Answer | undefined> {
  for (;;) {
    const choice = await prompter.select<Refusal | 'later'>({
      message: 'Which response should the server get?',
      options: [...refusals(), laterChoice(id, prompter)],
    })
    if (choice === 'later' || choice === cancelled) return undefined
    const answer = await answerForRefusal(choice, prompter)
    if (answer !== undefined) return answer
  }
}

/** Asks field by field. */
async function fillFieldByField(
  { id, params }: ElicitationQuestion & { params: ElicitFormParams },
  fields: readonly FormField[],
  remembered: Readonly<Record<string, ElicitValue>>,
  prompter: Prompter,
): Promise<Answer | undefined> {
  const schema = params.requestedSchema
  const values: FormValues = new Map(Object.entries(remembered))
  let from = 0
  for (;;) {
    if ((await askFieldsFrom(from, fields, values, prompter)) === cancelled) return undefined
    from = fields.length
    const finished = finishForm(schema, Object.fromEntries(values))
    if ('problem' in finished) {
      prompter.say([`This cannot be sent yet. ${oneLine(finished.problem)}`])
      from = 0
      continue
    }
    const { content } = finished
    const next: ReviewDecision | Cancelled = await review(id, fields, content, prompter)
    switch (next) {
      case 'send':
        return { action: 'accept', content }
      case 'later':
        return undefined
      case 'remember': {
        const remember = await askRemember(fields, content, Object.keys(remembered), prompter)
        if (remember !== cancelled) return { action: 'accept', content, remember }
        break
      }
      case 'change':
        await changeOne(fields, values, content, prompter)
        break
      case cancelled:
        from = fields.length - 1
        break
      default: {
        const answer = await answerForRefusal(next, prompter)
        if (answer !== undefined) return answer
      }
    }
  }
}

/** Asks field by field; Esc goes back one. */
export async function askFieldsFrom(
  first: number,
  fields: readonly FormField[],
  values: FormValues,
  prompter: Prompter,
): Promise<Cancelled | undefined> {
  for (let n = first; n < fields.length; n++) {
    const field = fields[n]
    if (field === undefined) break
    const answer = await askField(field, values.get(field.key) ?? field.default, prompter)
    if (answer === cancelled) {
      if (n === 0) return cancelled
      n -= 2
    } else if (answer === undefined) values.delete(field.key)
    else values.set(field.key, answer)
  }
  return undefined
}
