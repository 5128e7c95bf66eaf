import { oneLine } from '../output/sanitize.ts'
import type { Choice } from './prompter.ts'

/** Leaves a question in the inbox, where any window answers it: the last of a question's choices. */
export function later(id: string): Choice<'later'> {
  return { value: 'later', label: 'Later', hint: `leave it in the inbox: ${answerWith(id)}`, key: 'l' }
}

/** The command that answers a question. `store`: the file it is kept in, where that is not the usual one. */
export function answerWith(id: string, store?: string): string {
  return `jackfield respond ${id.slice(0, 8)}${store === undefined ? '' : ` --store ${oneLine(store)}`}`
}
