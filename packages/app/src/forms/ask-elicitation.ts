import type { HostAnswers } from '@jackfield/host'
import type { Palette } from '../output/palette.ts'
import { askForm } from './ask-form.ts'
import { askUrl } from './ask-url.ts'
import type { ElicitationQuestion } from './heading.ts'
import type { Prompter } from './prompter.ts'

/** Shows a server's form or page to the user; undefined leaves the question in the inbox. */
export async function askElicitation(
  question: ElicitationQuestion,
  prompter: Prompter,
  palette: Palette,
): Promise<HostAnswers['elicitation'] | undefined> {
  const { params } = question
  return params.mode === 'url'
    ? askUrl({ ...question, params }, prompter, palette)
    : askForm({ ...question, params }, prompter, palette)
}
