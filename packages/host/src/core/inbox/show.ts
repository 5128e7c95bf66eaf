import type { HostAnswers, HostQuestion, Question, QuestionKind, Surface } from '../../types/index.ts'

/** Whether a surface can show a question. */
export function canShow(surface: Surface, question: HostQuestion): boolean {
  if (surface.show[question.kind] === undefined) return false
  return question.kind !== 'elicitation' || question.params.mode !== 'url' || surface.urlElicitation === true
}

/** Shows a question on a surface; undefined leaves it in the inbox. */
export async function showQuestion<K extends QuestionKind>(
  { show }: Surface,
  question: Question<K>,
  signal: AbortSignal,
): Promise<HostAnswers[K] | undefined> {
  return show[question.kind]?.(question, signal)
}
