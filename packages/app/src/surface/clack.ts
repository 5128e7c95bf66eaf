import type { Readable, Writable } from 'node:stream'
import * as clack from '@clack/prompts'
import { type Cancelled, cancelled, type Prompter } from '../forms/prompter.ts'
import { wrapText } from '../output/flow.ts'
import { clackSelect, type SelectStreams } from './clack-select.ts'
import { showView } from './show-view.ts'

export { clackSelect }

export interface ClackOptions {
  input: Readable
  output: Writable & { isTTY?: boolean; columns?: number; rows?: number }
  env?: NodeJS.ProcessEnv
  /** Aborted when the answer is no longer needed; the question then closes as cancelled. */
  signal?: AbortSignal
  store?: string
  /** Called when the user cancelled a question with Ctrl+C. */
  onInterrupt?: () => void
  /** Why keys are ignored; undefined when they are active. */
  hint?: () => string | undefined
}

/** Asks on a terminal. */
export function clackPrompter(options: ClackOptions): Prompter {
  const { input, output, signal } = options
  const withHint = (message: string): string => {
    const hint = options.hint?.()
    return hint === undefined ? message : `${message}\n${hint}`
  }

  const isWithdrawn = (): boolean => signal?.aborted === true

  /** Asks, and reports Ctrl+C. */
  const withInterruptHandler = async <T>(ask: () => Promise<T>): Promise<T> => {
    let interrupted = false
    const onKeypress = (_typed: unknown, key: { name?: string; ctrl?: boolean } | undefined): void => {
      interrupted = key?.ctrl === true && key.name === 'c'
    }
    input.on('keypress', onKeypress)
    try {
      return await ask()
    } finally {
      input.off('keypress', onKeypress)
      if (interrupted) options.onInterrupt?.()
    }
  }

  /** Clack's prompts leave their output on the screen when their signal is aborted, but not when Esc is pressed. */
  const askWithdrawable = <T>(ask: (streams: SelectStreams) => Promise<T | symbol>): Promise<T | Cancelled> =>
    withInterruptHandler(async () => {
      const withdraw = (): void => {
        input.emit('keypress', '\u001b', { name: 'escape', sequence: '\u001b' })
      }
      if (isWithdrawn()) return cancelled
      signal?.addEventListener('abort', withdraw, { once: true })
      try {
        const answer = await ask({ input, output, ...(options.hint && { hint: options.hint }) })
        return typeof answer === 'symbol' || isWithdrawn() ? cancelled : answer
      } finally {
        signal?.removeEventListener('abort', withdraw)
      }
    })
  return {
    ...(options.store !== undefined && { store: options.store }),
    // OSC 52: the terminal sets its own clipboard, also for remote programs.
    copy: (text) => {
      options.output.write(`\u001b]52;c;${Buffer.from(text).toString('base64')}\u0007`)
    },
    say: (lines) =>
      clack.log.message(
        lines.flatMap((line) => wrapText(line, textColumns(options.output)).split('\n')),
        { output: options.output },
      ),
    async text(question) {
      const { initial, placeholder, validate, message } = question
      return askWithdrawable<string>((streams) =>
        clack.text({
          ...streams,
          message: withHint(message),
          ...(initial !== undefined && { initialValue: initial }),
          ...(placeholder !== undefined && { placeholder }),
          validate: (text) => validate(text ?? ''),
        }),
      )
    },
    select: (question) => askWithdrawable((streams) => clackSelect(streams, question, isWithdrawn)),
    ...(canDraw(options) && {
      screen: (view) =>
        withInterruptHandler(() =>
          showView(
            { input, output, ...(options.hint && { hint: options.hint }), ...(signal && { signal }) },
            view,
          ),
        ),
    }),
    async multiselect({ message, options: choices, initial, required }) {
      return askWithdrawable<string[]>((streams) =>
        clack.multiselect<string>({
          ...streams,
          message: withHint(message),
          options: choices,
          initialValues: initial,
          required,
          maxItems: 12,
        }),
      )
    },
  }
}

/** Columns beside the bar on the left; undefined if unknown. */
function textColumns(output: Writable & { columns?: number }): number | undefined {
  return output.columns === undefined ? undefined : output.columns - 3
}

/** Screen readers read lines, and simple terminals cannot move the cursor. */
function canDraw({ output, env = {} }: ClackOptions): boolean {
  const accessible = env.ACCESSIBLE ?? ''
  return output.isTTY === true && env.TERM !== 'dumb' && ['', '0', 'false'].includes(accessible)
}
