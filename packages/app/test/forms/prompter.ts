import { type Cancelled, cancelled, type Prompter } from '../../src/forms/prompter.ts'

/** One answer of a scripted person: a text, a choice's value, choices, or Esc. */
export type Scripted = string | string[] | Cancelled

export interface ScriptedPrompter extends Prompter {
  said: string[]
  asked: string[]
  /** Values offered by each select, in order. */
  offered: string[][]
  initials: (string | string[] | undefined)[]
}

/** A person who gives these answers in turn; typed texts are checked as a terminal would. */
export function scripted(...answers: Scripted[]): ScriptedPrompter {
  const left = [...answers]
  const said: string[] = []
  const asked: string[] = []
  const offered: string[][] = []
  const initials: (string | string[] | undefined)[] = []
  const next = (message: string, initial: string | string[] | undefined): Scripted => {
    asked.push(message)
    initials.push(initial)
    const answer = left.shift()
    if (answer === undefined) throw new Error(`nobody answers: ${message}`)
    return answer
  }
  return {
    said,
    asked,
    offered,
    initials,
    say: (lines) => {
      said.push(...lines)
    },
    async text({ message, initial, validate }) {
      const answer = next(message, initial)
      if (typeof answer !== 'string') return cancelled
      const problem = validate(answer)
      if (problem !== undefined) throw new Error(`${message}: ${problem}`)
      return answer
    },
    async select({ message, options, initial }) {
      offered.push(options.map((option) => option.value))
      const answer = next(message, initial)
      const chosen = options.find((option) => option.value === answer || option.label === answer)
      if (chosen === undefined && answer !== cancelled)
        throw new Error(`${message}: no option ${String(answer)}`)
      return chosen?.value ?? cancelled
    },
    async multiselect({ message, initial }) {
      const answer = next(message, initial)
      return Array.isArray(answer) ? answer : cancelled
    },
  }
}
