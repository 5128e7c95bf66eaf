import type { ScreenView } from './screen.ts'

/** Set apart from every answer: the person pressed Esc, or the question is over. */
export const cancelled: unique symbol = Symbol('cancelled')
export type Cancelled = typeof cancelled

/** One of several answers. */
export interface Choice<T extends string> {
  value: T
  label: string
  hint?: string
  /** Pressing it answers at once, where the terminal can. */
  key?: string
}

/** The few ways a form asks; a terminal implements them, a test scripts them. */
export interface Prompter {
  /** The store, where it is not the usual one: the command that answers a question later names it. */
  readonly store?: string
  /** Shows lines without asking. */
  say(lines: string[]): void
  text(question: {
    message: string
    initial?: string
    placeholder?: string
    validate(typed: string): string | undefined
  }): Promise<string | Cancelled>
  select<T extends string>(question: {
    message: string
    options: Choice<T>[]
    initial?: T
  }): Promise<T | Cancelled>
  multiselect(question: {
    message: string
    options: { value: string; label: string; hint?: string }[]
    initial: string[]
    required: boolean
  }): Promise<string[] | Cancelled>
  /**
   * Lets the person work on a view that takes keys and is drawn anew after each; cancelled where the terminal was closed
   * or the question withdrawn. Absent where lines that stand already cannot be drawn over.
   */
  screen?<T>(view: ScreenView<T>): Promise<T | Cancelled>
  /** Puts a text into the clipboard of the person's terminal, where that lets programs do so. */
  copy(text: string): void
}
