import type { ScreenView } from './screen.ts'

/** Distinct from every answer: the user pressed Esc, or the question was withdrawn. */
export const cancelled: unique symbol = Symbol('cancelled')
export type Cancelled = typeof cancelled

/** One of several answers. */
export interface Choice<T extends string> {
  value: T
  label: string
  hint?: string
  /** A key that selects it at once, if the terminal supports that. */
  key?: string
}

/** The prompts a form uses; terminals implement them, tests script them. */
export interface Prompter {
  /** The store, if not the default one, for the command that answers a deferred question. */
  readonly store?: string
  /** Prints lines without asking. */
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
   * Shows a view that handles keys and is redrawn after each; cancelled if the terminal was closed or the question withdrawn.
   * Absent on terminals that cannot redraw lines.
   */
  screen?<T>(view: ScreenView<T>): Promise<T | Cancelled>
  /** Copies a text to the clipboard, if the terminal allows programs to do so. */
  copy(text: string): void
}
