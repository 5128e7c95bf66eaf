import type { Readable, Writable } from 'node:stream'
import * as clack from '@clack/prompts'
import type { ConfigInput } from '@jackfield/host'
import { oneLine } from '../output/sanitize.ts'

interface InputStreams {
  input: Readable
  output: Writable
  /** Removes the prompt: the value is no longer needed, or was entered on another surface. */
  signal: AbortSignal
  /** Why keys are ignored; undefined when they are active. */
  hint?: () => string | undefined
}

/** Asks for a configuration input; a password is not echoed. Undefined for Esc. */
export async function askForInput(
  server: string,
  input: ConfigInput,
  { onInterrupt, ...streams }: InputStreams & { onInterrupt: () => void },
): Promise<string | undefined> {
  let interrupted = false
  const onKeypress = (_typed: unknown, key: { name?: string; ctrl?: boolean } | undefined): void => {
    interrupted = key?.ctrl === true && key.name === 'c'
  }
  streams.input.on('keypress', onKeypress)
  try {
    return await askInput(server, input, streams)
  } finally {
    streams.input.off('keypress', onKeypress)
    if (interrupted) onInterrupt()
  }
}

async function askInput(
  server: string,
  input: ConfigInput,
  { hint, ...streams }: InputStreams,
): Promise<string | undefined> {
  const about = hint?.()
  const message = `${oneLine(server)} needs ${oneLine(input.description ?? input.id)}${about === undefined ? '' : `\n${about}`}`
  if (input.options !== undefined) {
    const options = input.options.map((value) => ({ value, label: oneLine(value) }))
    return answered(await clack.select({ ...streams, message, options, maxItems: 12 }))
  }
  if (input.password === true) return answered(await clack.password({ ...streams, message }))
  const initial = input.default === undefined ? {} : { initialValue: input.default }
  return answered(await clack.text({ ...streams, message, ...initial }))
}

function answered(answer: string | symbol | undefined): string | undefined {
  return typeof answer === 'string' ? answer : undefined
}
