import { setTimeout as pause } from 'node:timers/promises'
import type { Terminal } from './terminal.ts'

const maxSteps = 24

/**
 * Moves down a list of choices to the one that begins with these words, and takes it.
 * @throws Error when no choice begins with them
 */
export async function choose(terminal: Terminal, label: string): Promise<void> {
  const at = (): string | undefined => {
    const lines = terminal.screen()
    const line = lines.findLast((one) => /[●›] \S/.test(one))
    return /[●›] (.*)/.exec(line ?? '')?.[1]
  }
  await terminal.until(label)
  // The list may arrive in pieces, its marked line last.
  await changed(() => at() !== undefined)
  for (let step = 0; step < maxSteps && at()?.startsWith(label) !== true; step++) {
    const before = at()
    terminal.press('down')
    // While the list is drawn anew, no line is marked.
    await changed(() => at() !== undefined && at() !== before)
  }
  if (at()?.startsWith(label) !== true) {
    throw new Error(`"${label}" cannot be chosen. It shows:\n${terminal.screen().join('\n').trimEnd()}`)
  }
  terminal.press('enter')
}

/** Waits until nothing was drawn for a while. */
export async function settled(terminal: Terminal, quietMs = 400): Promise<void> {
  let before = ''
  let since = performance.now()
  while (performance.now() - since < quietMs) {
    await pause(30)
    const now = terminal.screen().join('\n')
    if (now !== before) since = performance.now()
    before = now
  }
}

async function changed(isDone: () => boolean, withinMs = 10_000): Promise<void> {
  for (const end = performance.now() + withinMs; !isDone() && performance.now() < end; ) await pause(10)
}
