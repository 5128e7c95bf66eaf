import type { HostQuestion } from '@jackfield/host'
import type { Palette } from '../output/palette.ts'
import { oneLine, plain } from '../output/sanitize.ts'

export type ElicitationQuestion = Extract<HostQuestion, { kind: 'elicitation' }>

const callers: Readonly<Record<NonNullable<ElicitationQuestion['cause']['caller']>, string>> = {
  chat: 'the model called',
  code: 'a program of the model called',
  app: 'an app called',
  sampling: 'a model that answers a server called',
  gateway: 'a client of this gateway called',
  person: 'you called',
  cli: 'you called',
}

/** Lines that name the server that asks and the call that led to it. `question`: what it asks for. */
export function elicitationHeading(
  { cause, origin, params }: ElicitationQuestion,
  question: string,
  palette: Palette,
): string[] {
  const server = oneLine(cause.server)
  const called = cause.caller === undefined ? 'a caller called' : callers[cause.caller]
  return [
    `${palette.bold(server)} ${question}`,
    ...(origin === undefined ? [] : [palette.dim(`  ${server} is ${oneLine(origin, 160)}`)]),
    ...(cause.tool === undefined
      ? []
      : [palette.dim(`  asked because ${called} its tool ${oneLine(cause.tool, 80)}`)]),
    ...plain(params.message).split('\n'),
  ]
}
