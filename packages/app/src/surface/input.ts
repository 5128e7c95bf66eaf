import type { Readable, Writable } from 'node:stream'
import * as clack from '@clack/prompts'
import type { ConfigInput } from '@jackfield/host'
import { oneLine } from '../output/sanitize.ts'

/** Asks for a value that a configuration wants; a password is not shown while it is typed. Esc gives undefined. */
export async function askForInput(
  server: string,
  input: ConfigInput,
  { onInterrupt, ...streams }: { input: Readable; output: Writable; onInterrupt?: () => void },
): Promise<string | undefined> {
  let interrupted = false
  const see = (_typed: unknown, key: { name?: string; ctrl?: boolean } | undefined): void => {
    interrupted = key?.ctrl === true && key.name === 'c'
  }
  streams.input.on('keypress', see)
  try {
    return await ask(server, input, streams)
  } finally {
    streams.input.off('keypress', see)
    if (interrupted) onInterrupt?.()
  }
}

async function ask(
  server: string,
  input: ConfigInput,
  streams: { input: Readable; output: Writable },
): Promise<string | undefined> {
  const message = `${oneLine(server)} needs ${oneLine(input.description ?? input.id)}`
  if (input.options !== undefined) {
    const options = input.options.map((value) => ({ value, label: oneLine(value) }))
    return given(await clack.select({ ...streams, message, options, maxItems: 12 }))
  }
  if (input.password === true) return given(await clack.password({ ...streams, message }))
  const initial = input.default === undefined ? {} : { initialValue: input.default }
  return given(await clack.text({ ...streams, message, ...initial }))
}

function given(answer: string | symbol | undefined): string | undefined {
  return typeof answer === 'string' ? answer : undefined
}
