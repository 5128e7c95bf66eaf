import { oneLine, shellWord } from '../output/sanitize.ts'
import type { Choice, Prompter } from './prompter.ts'

/** Defers a question to the inbox, where any client can answer it: the last choice of a question. */
export function laterChoice(id: string, { store }: Pick<Prompter, 'store'>): Choice<'later'> {
  return {
    value: 'later',
    label: 'Later',
    hint: `leave it in the inbox: ${respondCommand(id, store)}`,
    key: 'l',
  }
}

/** The command that answers a question. `store`: its file, if not the default one. */
export function respondCommand(id: string, store?: string): string {
  return `jackfield respond ${id.slice(0, 8)}${store === undefined ? '' : ` --store ${shellWord(oneLine(store))}`}`
}
