import type { HostAnswers, HostQuestion, QuestionKind, Surface } from '../../types/index.ts'

/** Whether a surface can show a question. */
export function canShow(surface: Surface, question: HostQuestion): boolean {
  if (surface.show[question.kind] === undefined) return false
  return question.kind !== 'elicitation' || question.params.mode !== 'url' || surface.urlElicitation === true
}

/** Shows a question on a surface; undefined leaves it in the inbox. */
export async function showQuestion(
  { show }: Surface,
  question: HostQuestion,
  signal: AbortSignal,
): Promise<HostAnswers[QuestionKind] | undefined> {
  switch (question.kind) {
    case 'approval':
      return show.approval?.(question, signal)
    case 'result':
      return show.result?.(question, signal)
    case 'elicitation':
      return show.elicitation?.(question, signal)
    case 'sampling-request':
      return show['sampling-request']?.(question, signal)
    case 'sampling-result':
      return show['sampling-result']?.(question, signal)
    case 'roots':
      return show.roots?.(question, signal)
    case 'start':
      return show.start?.(question, signal)
    case 'input':
      return show.input?.(question, signal)
    case 'installation':
      return show.installation?.(question, signal)
    case 'drift':
      return show.drift?.(question, signal)
    case 'login':
      return show.login?.(question, signal)
    case 'app':
      return show.app?.(question, signal)
  }
}
