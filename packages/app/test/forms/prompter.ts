import { type Cancelled, cancelled, type Prompter } from '../../src/forms/prompter.ts'

/** The person pressed Esc, where `cancelled` is Ctrl+C. */
export const esc: unique symbol = Symbol('esc')

/** One answer of a scripted person: a text, a choice's value or label, choices, Esc or Ctrl+C. */
export type Scripted = string | string[] | Cancelled | typeof esc

export interface ScriptedPrompter extends Prompter {
  printed: string[]
  asked: string[]
  /** Values offered by each select, in order. */
  offered: string[][]
  initials: (string | string[] | undefined)[]
  copied: string[]
  /** Answers without a matching question. */
  left: Scripted[]
}

/** A person who gives these answers in turn; typed texts are checked as a terminal would. */
export function scripted(...answers: Scripted[]): ScriptedPrompter {
  const left = [...answers]
  const printed: string[] = []
  const asked: string[] = []
  const offered: string[][] = []
  const initials: (string | string[] | undefined)[] = []
  const copied: string[] = []
  const next = (message: string, initial: string | string[] | undefined): string | string[] | Cancelled => {
    asked.push(message)
    initials.push(initial)
    const answer = left.shift()
    if (answer === undefined) throw new Error(`nobody answers: ${message}`)
    return answer === esc ? cancelled : answer
  }
  return {
    printed,
    asked,
    offered,
    initials,
    copied,
    left,
    say: (lines) => {
      printed.push(...lines)
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
    async multiselect({ message, options, initial }) {
      const answer = next(message, initial)
      if (!Array.isArray(answer)) return cancelled
      return options.flatMap(({ value, label }) => (answer.includes(label) ? [value] : []))
    },
    copy: (text) => {
      copied.push(text)
    },
  }
}
