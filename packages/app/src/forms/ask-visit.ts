import type { ElicitResult, ElicitUrlParams } from '@jackfield/sdk'
import type { Palette } from '../output/palette.ts'
import { oneLine, plain } from '../output/sanitize.ts'
import type { Prompter } from './prompter.ts'
import { planVisit } from './url.ts'

/**
 * Shows the person a URL a server wants them to visit, whole and with the site set off, and asks for consent. Nothing
 * is opened or fetched: the person opens it in a browser of their choice.
 */
export async function askVisit(
  params: ElicitUrlParams,
  server: string,
  prompter: Prompter,
  palette: Palette,
): Promise<ElicitResult> {
  const visit = planVisit(params.url)
  const { before, host, after } = visit.parts
  prompter.say([
    `${oneLine(server)} asks you to visit a page:`,
    ...plain(params.message).split('\n'),
    '',
    `${palette.dim(plain(before))}${palette.bold(plain(host))}${palette.dim(plain(after))}`,
    ...visit.warnings.map((warning) => palette.yellow(`! ${oneLine(warning)}`)),
    ...(visit.blocked === undefined ? [] : [palette.red(`! ${oneLine(visit.blocked)}`)]),
  ])
  const choice = await prompter.select({
    message: 'What do you want to do?',
    options: [
      ...(visit.blocked === undefined
        ? [{ value: 'accept' as const, label: 'Agree', hint: 'then open the page in your browser yourself' }]
        : []),
      { value: 'decline' as const, label: 'Decline', hint: 'tell the server no' },
      { value: 'cancel' as const, label: 'Cancel', hint: 'leave it unanswered' },
    ],
    initial: 'decline',
  })
  return { action: choice === 'accept' || choice === 'decline' ? choice : 'cancel' }
}
