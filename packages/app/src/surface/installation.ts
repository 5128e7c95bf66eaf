import type { HostAnswers, HostQuestion } from '@jackfield/host'
import type { Prompter } from '../forms/prompter.ts'
import { installationLines } from '../output/installation.ts'
import type { Palette } from '../output/palette.ts'

/** Asks whether to install a server. Esc means no: the question is not left for later, because a command waits for it. */
export async function askInstallation(
  { plan, file, starts }: Extract<HostQuestion, { kind: 'installation' }>,
  prompter: Prompter,
  palette: Palette,
): Promise<HostAnswers['installation']> {
  prompter.say(installationLines(plan, file, palette))
  const choice = await prompter.select({
    message: starts ? 'Install it and start it?' : 'Install it?',
    options: [
      { value: 'no', label: 'No', key: 'n' },
      { value: 'yes', label: 'Yes', key: 'y' },
    ],
    initial: 'no',
  })
  return { verdict: choice === 'yes' ? 'allow' : 'deny' }
}
