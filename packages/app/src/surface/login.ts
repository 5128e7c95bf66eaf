import { type HostAnswers, type HostQuestion, inspectUrl, makeVisible } from '@jackfield/host'
import { laterChoice } from '../forms/later-choice.ts'
import { pageLines } from '../forms/page.ts'
import type { Prompter } from '../forms/prompter.ts'
import type { Palette } from '../output/palette.ts'
import { oneLine } from '../output/sanitize.ts'

/** Asks whether to open the login page of a server. Esc leaves the question in the inbox. */
export async function askLogin(
  { cause, url, scopes, id }: Extract<HostQuestion, { kind: 'login' }>,
  prompter: Prompter,
  palette: Palette,
): Promise<HostAnswers['login'] | undefined> {
  const page = inspectUrl(url)
  prompter.say([
    `${palette.bold(makeVisible(cause.server))} requires you to sign in. Your browser would open:`,
    ...pageLines(page, palette),
    `${palette.dim('for')} ${scopes.length === 0 ? 'what the page says' : scopes.map((scope) => oneLine(scope, 60)).join(', ')}`,
  ])
  const choice = await prompter.select({
    message: 'Open it?',
    options: [
      laterChoice(id, prompter),
      ...(page.blocked === undefined ? [{ value: 'allow', label: 'Open it and sign in', key: 'y' }] : []),
      { value: 'deny', label: 'No', hint: 'continue without this server', key: 'n' },
    ],
    initial: 'later',
  })
  return choice === 'allow' || choice === 'deny' ? { verdict: choice } : undefined
}
