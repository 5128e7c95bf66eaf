import { type FormField, reviewForm } from '@jackfield/host'
import type { ElicitValue } from '@jackfield/sdk'
import { oneLine } from '../output/sanitize.ts'
import { askField } from './ask-field.ts'
import { laterChoice } from './later-choice.ts'
import { type Cancelled, cancelled, type Prompter } from './prompter.ts'
import { type Refusal, refusals } from './refusals.ts'

/** Answers by field name; omitted fields are absent. */
export type FormValues = Map<string, ElicitValue>

/** The user's decision after the review. */
export type ReviewDecision = 'send' | 'remember' | 'change' | 'later' | Refusal

/** Shows everything that would be sent, and asks what to do with it. */
export async function review(
  id: string,
  fields: readonly FormField[],
  content: Readonly<Record<string, ElicitValue>>,
  prompter: Prompter,
): Promise<ReviewDecision | Cancelled> {
  const rows = reviewForm(fields, content)
  const lines = rows.map(({ label, value }) => `  ${oneLine(label)}: ${oneLine(value)}`)
  prompter.say(['This is what will be sent:', ...lines])
  const back = prompter.screen === undefined ? { hint: 'Esc goes back to the last one' } : {}
  return prompter.select<ReviewDecision>({
    message: 'Send it?',
    options: [
      { value: 'send', label: 'Send' },
      { value: 'change', label: 'Change an answer…', ...back },
      ...(rememberable(fields, content).length === 0
        ? []
        : [{ value: 'remember' as const, label: 'Send, and remember answers for the next time…' }]),
      ...refusals(),
      laterChoice(id, prompter),
    ],
    initial: 'send',
  })
}

/** Lets the user change one answer; Esc changes nothing. */
export async function changeOne(
  fields: readonly FormField[],
  values: FormValues,
  content: Readonly<Record<string, ElicitValue>>,
  prompter: Prompter,
): Promise<void> {
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
  if (field === undefined) return
  const answer = await askField(field, values.get(field.key) ?? field.default, prompter)
  if (answer === undefined) values.delete(field.key)
  else if (answer !== cancelled) values.set(field.key, answer)
}

/** Lets the user choose fields to prefill in later forms of the server; never secrets. */
export async function askRemember(
  fields: readonly FormField[],
  content: Readonly<Record<string, ElicitValue>>,
  before: readonly string[],
  prompter: Prompter,
): Promise<string[] | Cancelled> {
  const offered = rememberable(fields, content)
  const chosen = await prompter.multiselect({
    message: 'Which answers should prefill the next form of this server? The others are forgotten',
    options: offered.map(({ label }, n) => ({ value: `${n}`, label: oneLine(label, 60) })),
    initial: offered.flatMap(({ key }, n) => (before.includes(key) ? [`${n}`] : [])),
    required: false,
  })
  return chosen === cancelled ? cancelled : chosen.flatMap((n) => offered[Number(n)]?.key ?? [])
}

function rememberable(
  fields: readonly FormField[],
  content: Readonly<Record<string, ElicitValue>>,
): readonly FormField[] {
  return fields.filter(({ key, secret }) => secret === undefined && Object.hasOwn(content, key))
}
