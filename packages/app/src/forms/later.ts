import { oneLine } from '../output/sanitize.ts'
import type { Choice, Prompter } from './prompter.ts'

/** Leaves a question in the inbox, where any window answers it: the last of a question's choices. */
export function later(id: string, { store }: Pick<Prompter, 'store'>): Choice<'later'> {
  return { value: 'later', label: 'Later', hint: `leave it in the inbox: ${answerWith(id, store)}`, key: 'l' }
}

/** The command that answers a question. `store`: the file it is kept in, where that is not the usual one. */
export function answerWith(id: string, store?: string): string {
  return `jackfield respond ${id.slice(0, 8)}${store === undefined ? '' : ` --store ${shellWord(oneLine(store))}`}`
}

/** One word as a shell takes it. */
export function shellWord(text: string): string {
  return /^[\w./:@+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
