import type { Prompter } from '../forms/prompter.ts'

/** An installation to be decided on. */
export interface Installation {
  /** What is to be known before. */
  readonly lines: readonly string[]
  /** Whether it is started then. */
  readonly starts: boolean
}

/** Asks whether a server is to be installed. Esc is a no. Nothing waits for it, so that it cannot be left for later. */
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
