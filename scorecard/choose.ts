import type { Terminal } from '../scripts/terminal/terminal.ts'

/** Moves down a list of choices in a terminal until this one is marked, and takes it. */
export async function choose(terminal: Terminal, label: string): Promise<void> {
  for (let steps = 0; steps < 20; steps += 1) {
    if (terminal.screen().some((line) => line.includes(`● ${label}`) || line.includes(`❯ ${label}`))) {
      terminal.press('enter')
      return
    }
    const before = terminal.screen().join('\n')
    terminal.press('down')
    await changed(terminal, before)
  }
  throw new Error(`There is no choice "${label}" on the screen:\n${terminal.screen().join('\n').trim()}`)
}

/** Waits until the screen shows something else, for a second at most. */
export async function changed(terminal: Terminal, before: string): Promise<void> {
  const deadline = performance.now() + 1000
  while (terminal.screen().join('\n') === before && performance.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** Empties the line that is being typed and types another. */
export function retype(terminal: Terminal, text: string): void {
  terminal.type(`\u0015${text}\r`)
}
