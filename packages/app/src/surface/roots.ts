import type { HostAnswers, HostQuestion } from '@jackfield/host'
import { laterChoice } from '../forms/later-choice.ts'
import { cancelled, type Prompter } from '../forms/prompter.ts'
import { folderLines, pathOf } from '../output/folders.ts'
import type { Palette } from '../output/palette.ts'
import { oneLine } from '../output/sanitize.ts'

type Of<K extends HostQuestion['kind']> = Extract<HostQuestion, { kind: K }>

/** Asks which folders a server may see. Esc leaves the question in the inbox, since it is no refusal. */
export async function askRoots(
  { id, cause, roots, folders }: Of<'roots'>,
  prompter: Prompter,
  palette: Palette,
): Promise<HostAnswers['roots'] | undefined> {
  prompter.say([
    `${palette.bold(oneLine(cause.server))} requests the folders that you opened to it. It would see:`,
    ...(folders === undefined
      ? roots.map(({ uri, name }) => `  ${pathOf(uri)}${name === undefined ? '' : `  (${oneLine(name)})`}`)
      : folderLines(folders, palette)),
  ])
  const choice = await prompter.select({
    message: 'Share these folders?',
    options: [
      { value: 'allow', label: roots.length === 1 ? 'Yes, share them' : 'Yes, all of them', key: 'y' },
      ...(roots.length === 1 ? [] : [{ value: 'some' as const, label: 'Only some', key: 's' }]),
      { value: 'deny', label: 'No', key: 'n' },
      laterChoice(id, prompter),
    ],
    initial: 'deny',
  })
  if (choice === 'allow' || choice === 'deny') return { verdict: choice }
  if (choice !== 'some') return undefined
  const chosen = await prompter.multiselect({
    message: 'Which?',
    options: roots.map(({ uri }) => ({ value: uri, label: pathOf(uri) })),
    initial: [],
    required: true,
  })
  if (chosen === cancelled) return undefined
  return { verdict: 'allow', roots: roots.filter(({ uri }) => chosen.includes(uri)) }
}
