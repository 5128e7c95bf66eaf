import type { Readable, Writable } from 'node:stream'
import * as clack from '@clack/prompts'
import { type Cancelled, cancelled, type Prompter } from '../forms/prompter.ts'
import { flowed } from '../output/flow.ts'

export interface ClackOptions {
  input: Readable
  output: Writable
  /** Aborted when the answer is no longer wanted; the question then closes as cancelled. */
  signal?: AbortSignal
}

/** Asks on a terminal. */
export function clackPrompter(options: ClackOptions): Prompter {
  let lastKey: string | undefined
  const asking = async <T>(ask: () => Promise<T>): Promise<T> => {
    const see = (_typed: unknown, key: { name?: string } | undefined): void => {
      lastKey = key?.name
    }
    options.input.on('keypress', see)
    try {
      return await ask()
    } finally {
      options.input.off('keypress', see)
    }
  }
  return {
    wentBack: () => lastKey === 'escape',
    // OSC 52: the terminal itself keeps the clipboard, wherever this program runs.
    copy: (text) => {
      options.output.write(`\u001b]52;c;${Buffer.from(text).toString('base64')}\u0007`)
    },
    say: (lines) =>
      clack.log.message(
        lines.flatMap((line) => flowed(line, roomIn(options.output)).split('\n')),
        { output: options.output },
      ),
    async text(question) {
      const { initial, placeholder, validate, message } = question
      const typed = await asking(() =>
        clack.text({
          ...options,
          message,
          ...(initial !== undefined && { initialValue: initial }),
          ...(placeholder !== undefined && { placeholder }),
          validate: (text) => validate(text ?? ''),
        }),
      )
      return clack.isCancel(typed) ? cancelled : typed
    },
    async select<T extends string>(question: Parameters<typeof ask<T>>[1]) {
      return asking(() => ask(options, question))
    },
    async multiselect({ message, options: choices, initial, required }) {
      const chosen = await asking(() =>
        clack.multiselect<string>({
          ...options,
          message,
          options: choices,
          initialValues: initial,
          required,
          maxItems: 12,
        }),
      )
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

/** Columns beside the bar on the left; undefined where nobody knows. */
function roomIn(output: Writable & { columns?: number }): number | undefined {
  return output.columns === undefined ? undefined : output.columns - 3
}
