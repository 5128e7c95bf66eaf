import { type HostAnswers, inspectUrl } from '@jackfield/host'
import type { ElicitUrlParams } from '@jackfield/sdk'
import type { Palette } from '../output/palette.ts'
import { oneLine } from '../output/sanitize.ts'
import { type ElicitationQuestion, elicitationHeading } from './heading.ts'
import { laterChoice, respondCommand } from './later-choice.ts'
import { pageLines } from './page.ts'
import { cancelled, type Prompter } from './prompter.ts'
import { answerForRefusal, type Refusal, refusals } from './refusals.ts'

type Answer = HostAnswers['elicitation']
type UrlQuestion = ElicitationQuestion & { params: ElicitUrlParams }

/**
 * Shows the full URL of a server's page with its site highlighted, and asks for consent; after that, asks whether the user
 * finished. Nothing is fetched here; the host opens the page after consent.
 */
export async function askUrl(
  question: UrlQuestion,
  prompter: Prompter,
  palette: Palette,
): Promise<Answer | undefined> {
  return question.visit === undefined
    ? askConsent(question, prompter, palette)
    : askFinished(question, question.visit, prompter, palette)
}

async function askConsent(
  question: UrlQuestion,
  prompter: Prompter,
  palette: Palette,
): Promise<Answer | undefined> {
  const { params, findings } = question
  const inspected = inspectUrl(params.url)
  // The question also has the server's own site.
  const page = { ...inspected, findings: findings ?? inspected.findings }
  prompter.say([
    ...elicitationHeading(question, 'asks you to visit a page', palette),
    '',
    ...pageLines(page, palette),
    palette.dim('Enter only what you trust this server with, on that page too.'),
  ])
  const agreeing = [
    ...(page.opens ? [{ value: 'open' as const, label: 'Agree, and open it in the browser' }] : []),
    { value: 'self' as const, label: 'Agree, and open it yourself' },
    { value: 'copy' as const, label: 'Copy the address', hint: 'where the terminal lets programs copy' },
  ]
  for (;;) {
    const choice = await prompter.select<'open' | 'self' | 'copy' | 'later' | Refusal>({
      message: 'Go there?',
      options: [
        ...refusals().slice(0, 1),
        ...(page.blocked === undefined ? agreeing : []),
        ...refusals().slice(1),
        laterChoice(question.id, prompter),
      ],
      initial: 'decline',
    })
    if (choice === 'open' || choice === 'self') return { action: 'accept', visit: choice }
    if (choice === 'later' || choice === cancelled) return undefined
    if (choice === 'copy') {
      prompter.copy(page.href)
      continue
    }
    const answer = await answerForRefusal(choice, prompter)
    if (answer !== undefined) return answer
  }
}

async function askFinished(
  { cause, params, id }: UrlQuestion,
  { opened, problem }: NonNullable<ElicitationQuestion['visit']>,
  prompter: Prompter,
  palette: Palette,
): Promise<Answer | undefined> {
  const page = inspectUrl(params.url)
  const shown = page.parts.host === '' ? 'the page' : oneLine(page.parts.host)
  prompter.say([
    `${palette.bold(oneLine(cause.server))} waits until you finished at ${palette.bold(shown)}.`,
    ...(problem === undefined ? [] : [palette.yellow(`! It could not be opened: ${oneLine(problem)}`)]),
    ...(opened ? [] : ['Open it yourself:', ...pageLines({ ...page, findings: [] }, palette)]),
  ])
  for (;;) {
    const choice = await prompter.select({
      message: 'Did you finish on that page?',
      options: [
        { value: 'finished', label: 'Yes, continue' },
        {
          value: 'later',
          label: 'Not yet: leave it in the inbox',
          hint: `then: ${respondCommand(id, prompter.store)} --accept`,
          key: 'l',
        },
        ...(page.opens ? [{ value: 'open', label: opened ? 'Open the page again' : 'Open the page' }] : []),
        { value: 'copy', label: 'Copy the address', hint: 'where the terminal lets programs copy' },
        { value: 'abandon', label: 'Abandon it', hint: 'sent to the server as closed without a decision' },
      ],
      initial: 'finished',
    })
    if (choice === 'finished') return { action: 'accept' }
    if (choice === 'open') return { action: 'accept', visit: 'open' }
    if (choice === 'later' || choice === cancelled) return undefined
    if (choice === 'abandon') return { action: 'cancel' }
    prompter.copy(page.href)
  }
}
