import { type FormField, finishForm, type HostAnswers } from '@jackfield/host'
import type { ElicitFormParams } from '@jackfield/sdk'
import type { Palette } from '../output/palette.ts'
import { oneLine } from '../output/sanitize.ts'
import { askRemember, review } from './ask-review.ts'
import { FormModel } from './form-model.ts'
import { formScreen } from './form-view.ts'
import type { ElicitationQuestion } from './heading.ts'
import { cancelled, type Prompter } from './prompter.ts'
import { answerForRefusal } from './refusals.ts'

type Answer = HostAnswers['elicitation']

/** Lets the user fill in a form on one screen and review it before it is sent. Undefined, as for Esc, defers it. */
export async function fillOnScreen(
  { id, params, remembered = {} }: ElicitationQuestion & { params: ElicitFormParams },
  fields: readonly FormField[],
  prompter: Prompter & Required<Pick<Prompter, 'screen'>>,
  palette: Palette,
): Promise<Answer | undefined> {
  const model = new FormModel(fields, new Map(Object.entries(remembered)))
  for (;;) {
    const action = await prompter.screen(formScreen(model, palette))
    if (action === 'later' || action === cancelled) return undefined
    if (action !== 'review') {
      const answer = await answerForRefusal(action, prompter)
      if (answer === undefined) continue
      return answer
    }
    const finished = finishForm(params.requestedSchema, Object.fromEntries(model.values()))
    if ('problem' in finished) {
      model.setNote(`This cannot be sent yet. ${oneLine(finished.problem)}`)
      continue
    }
    const answer = await reviewAnswers(id, fields, finished.content, Object.keys(remembered), prompter)
    if (answer !== 'change') return answer
    model.focusFirst()
  }
}

/** Shows what would be sent and asks what to do with it. */
async function reviewAnswers(
  id: string,
  fields: readonly FormField[],
  content: NonNullable<Answer['content']>,
  before: readonly string[],
  prompter: Prompter,
): Promise<Answer | undefined | 'change'> {
  for (;;) {
    const next = await review(id, fields, content, prompter)
    if (next === 'send') return { action: 'accept', content }
    if (next === 'later' || next === cancelled) return undefined
    if (next === 'change') return 'change'
    if (next === 'remember') {
      const remember = await askRemember(fields, content, before, prompter)
      if (remember !== cancelled) return { action: 'accept', content, remember }
      continue
    }
    const answer = await answerForRefusal(next, prompter)
    if (answer !== undefined) return answer
  }
}
