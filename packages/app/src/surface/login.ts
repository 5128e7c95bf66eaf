import { type HostAnswers, type HostQuestion, makeVisible } from '@jackfield/host'
import type { Prompter } from '../forms/prompter.ts'
import { highlightUrl, warningsFor } from '../forms/url.ts'
import type { Palette } from '../output/palette.ts'

/** Asks whether the page may be opened where a server wants the person signed in. Esc leaves it for later. */
export async function askLogin(
  { cause, url, issuer, scopes, id }: Extract<HostQuestion, { kind: 'login' }>,
  prompter: Prompter,
  palette: Palette,
): Promise<HostAnswers['login'] | undefined> {
}
