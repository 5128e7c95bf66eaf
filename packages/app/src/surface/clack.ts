import type { Readable, Writable } from 'node:stream'
import * as clack from '@clack/prompts'
import { type Cancelled, cancelled, type Prompter } from '../forms/prompter.ts'

export interface ClackOptions {
  input: Readable
  output: Writable
  /** Aborted when the answer is no longer wanted; the question then closes as cancelled. */
  signal?: AbortSignal
}

/** Asks on a terminal. */
export function clackPrompter(options: ClackOptions): Prompter {
  return {
    say: (lines) => clack.log.message(lines, { output: options.output }),
    async text(question) {
      const { initial, placeholder, validate, message } = question
      const typed = await clack.text({
        ...options,
        message,
        ...(initial !== undefined && { initialValue: initial }),
        ...(placeholder !== undefined && { placeholder }),
        validate: (text) => validate(text ?? ''),
      })
      return clack.isCancel(typed) ? cancelled : typed
    },
    async select<T extends string>(question: Parameters<typeof ask<T>>[1]) {
      return ask(options, question)
    },
    async multiselect({ message, options: choices, initial, required }) {
      const chosen = await clack.multiselect<string>({
        ...options,
        message,
        options: choices,
        initialValues: initial,
        required,
        maxItems: 12,
      })
      return clack.isCancel(chosen) ? cancelled : chosen
    },
  }
}

async function ask<T extends string>(
  options: ClackOptions,
  question: { message: string; options: { value: T; label: string; hint?: string }[]; initial?: T },
): Promise<T | Cancelled> {
  const chosen = await clack.select<string>({
    ...options,
    message: question.message,
    options: question.options,
    maxItems: 12,
    ...(question.initial !== undefined && { initialValue: question.initial }),
  })
  return question.options.find((option) => option.value === chosen)?.value ?? cancelled
}
