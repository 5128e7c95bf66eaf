import { dirname } from 'node:path'
import { strays } from './desk.ts'
import type { Desk, Fixture, Ran, Running, SeenMessage } from './types.ts'
import { callOf, configure } from './with.ts'

/** A question that waits, and how to answer it. */
export interface Parked {
  id: string
  /** What the tool showed of it. */
  shown: string
  /** The program that asked and waits; the one of mcpdo is over, its daemon holds the call. */
  waiting?: Running
  file: string
}

/** Calls a tool that asks, with nobody at the terminal, and gives the question that it left behind. */
export async function park(
  desk: Desk,
  tool: 'jackfield' | 'mcpdo',
  server: Fixture,
  name: string,
): Promise<Parked | { missing: Ran }> {
  const file = await configure(desk, { shop: server })
  if (tool === 'mcpdo') {
    const ran = await callOf(desk, tool, server, [name, {}])
    const id = /elicitation-[\w-]{20,}/.exec(ran.stdout)?.[0]
    return id === undefined ? { missing: ran } : { id, shown: ran.stdout, file }
  }
  const waiting = desk.start('jackfield', ['call', 'shop', name, '--park', '--config', file])
  const asked = /jackfield respond (\w+)/
  await waiting.until(asked).catch(() => {})
  const shown = waiting.stderr + waiting.stdout
  const id = asked.exec(shown)?.[1]
  return id === undefined ? { missing: await waiting.stop() } : { id, shown, waiting, file }
}

/** Answers a parked question from a program of its own; `words` are the answer as that tool writes it. */
export function respond(
  desk: Desk,
  tool: 'jackfield' | 'mcpdo',
  { id, file }: Parked,
  words: string[],
): Promise<Ran> {
  return tool === 'mcpdo'
    ? desk.run(tool, ['elicitation/respond', id, ...words])
    : desk.run(tool, ['respond', id, ...words, '--config', file])
}

/** Ends everything at the desk at once, as a power cut does, its servers and daemons too. */
export async function powerCut(desk: Desk): Promise<void> {
  const place = dirname(desk.home)
  for (let round = 0; round < 40; round += 1) {
    const left = strays(place)
    if (left.length === 0) return
    for (const pid of left) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // It was over already.
      }
    }
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

/** Every answer to a question that the server was sent, in a session or in a round. */
export function answersIn(seen: readonly SeenMessage[]): { action?: string; content?: unknown }[] {
  return seen.flatMap(({ method, result, params }) => {
    const given = params?.['inputResponses']
    if (typeof given === 'object' && given !== null) return Object.values(given)
    return method === undefined && typeof result === 'object' && result !== null ? [result] : []
  })
}
