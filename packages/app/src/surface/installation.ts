import type { Prompter } from '../forms/prompter.ts'

/** An installation that needs consent. */
export interface Installation {
  /** Information shown before the question. */
  readonly lines: readonly string[]
  /** Whether the server is started afterwards. */
  readonly starts: boolean
}

/** Asks whether to install a server. Esc means no. The question cannot be deferred, because no other program waits for it. */
export async function askInstallation({ lines, starts }: Installation, prompter: Prompter): Promise<boolean> {
  prompter.say([...lines])
  const choice = await prompter.select({
    message: starts ? 'Install it and start it?' : 'Install it?',
    options: [
      { value: 'no', label: 'No', key: 'n' },
      { value: 'yes', label: 'Yes', key: 'y' },
    ],
    initial: 'no',
  })
  return choice === 'yes'
}
