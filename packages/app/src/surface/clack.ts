import type { Readable, Writable } from 'node:stream'
import * as clack from '@clack/prompts'
import { cancelled, type Prompter } from '../forms/prompter.ts'
import { flowed } from '../output/flow.ts'
import { clackSelect, type SelectStreams } from './clack-select.ts'
import { drawn } from './drawn.ts'

export interface ClackOptions {
  input: Readable
  output: Writable & { isTTY?: boolean; columns?: number; rows?: number }
  env?: NodeJS.ProcessEnv
  /** Aborted when the answer is no longer wanted; the question then closes as cancelled. */
  signal?: AbortSignal
  /** Called when the person left a question with Ctrl+C. */
  onInterrupt?: () => void
}

/** Asks on a terminal. */
export function clackPrompter(options: ClackOptions): Prompter {
  const { input, output, signal } = options

  /** Asks with streams of its own signal, since what was asked must not touch the terminal once it is answered. */
  const asking = async <T>(ask: (streams: SelectStreams) => Promise<T>): Promise<T> => {
    const withdrawn = new AbortController()
    const withdraw = (): void => withdrawn.abort(signal?.reason)
    let interrupted = false
    const see = (_typed: unknown, key: { name?: string; ctrl?: boolean } | undefined): void => {
      interrupted = key?.ctrl === true && key.name === 'c'
    }
    input.on('keypress', see)
    signal?.addEventListener('abort', withdraw, { once: true })
    if (signal?.aborted === true) withdraw()
    try {
      return await ask({ input, output, signal: withdrawn.signal })
    } finally {
      signal?.removeEventListener('abort', withdraw)
      input.off('keypress', see)
      if (interrupted) options.onInterrupt?.()
    }
  }
  return {
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
      const typed = await asking((streams) =>
        clack.text({
          ...streams,
          message,
          ...(initial !== undefined && { initialValue: initial }),
          ...(placeholder !== undefined && { placeholder }),
          validate: (text) => validate(text ?? ''),
        }),
      )
      return clack.isCancel(typed) ? cancelled : typed
    },
    select: (question) => asking((streams) => clackSelect(streams, question)),
    ...(canDraw(options) && { screen: (view) => asking((streams) => drawn(streams, view)) }),
    async multiselect({ message, options: choices, initial, required }) {
      const chosen = await asking((streams) =>
        clack.multiselect<string>({
          ...streams,
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

/** Columns beside the bar on the left; undefined where nobody knows. */
function roomIn(output: Writable & { columns?: number }): number | undefined {
  return output.columns === undefined ? undefined : output.columns - 3
}

/** Screen readers read lines, and simple terminals cannot move the cursor. */
function canDraw({ output, env = {} }: ClackOptions): boolean {
  const accessible = env.ACCESSIBLE ?? ''
  return output.isTTY === true && env.TERM !== 'dumb' && ['', '0', 'false'].includes(accessible)
}
