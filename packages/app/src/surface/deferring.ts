import type { HostQuestion, Surface } from '@jackfield/host'
import type { Output } from '../cli/io.ts'
import { respondCommand } from '../forms/later-choice.ts'
import { answerCommands, questionSummary } from '../output/inbox.ts'
import { oneLine } from '../output/sanitize.ts'

/** A surface without a user: it prints how each question can be answered, and leaves it in the inbox. */
export function deferringSurface(output: Output, { store }: { store?: string }): Surface {
  const defer = async (question: HostQuestion): Promise<undefined> => {
    const command = respondCommand(question.id, store)
    output.note(
      [
        `? ${oneLine(question.cause.server)} asks (${question.kind}): ${questionSummary(question)}`,
        ...answerCommands(question).map((answerArguments) => `    ${command} ${answerArguments}`),
      ].join('\n'),
    )
    return undefined
  }
  return {
    name: 'inbox',
    urlElicitation: true,
    show: {
      approval: defer,
      result: defer,
      elicitation: defer,
      'sampling-request': defer,
      'sampling-result': defer,
      roots: defer,
      start: defer,
      drift: defer,
      login: defer,
    },
  }
}
