import { openDesk } from './desk.ts'
import { brokeOff } from './results.ts'
import type { Script, Tool, Verdict } from './types.ts'

const scriptMs = 20_000

/**
 * Puts one tool to one script at a desk of its own, which is cleared whatever happens.
 * @param patience by how much all waiting is longer than on the page, for a machine that is busy with other things
 */
export async function decide(script: Script, tool: Tool, patience = 1): Promise<Verdict> {
  const limitMs = scriptMs * patience
  const check = script.tools[tool]
  if (typeof check !== 'function') return check
  const desk = await openDesk(patience)
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<Verdict>((resolve) => {
    timer = setTimeout(() => resolve({ kind: 'no', note: `not done within ${limitMs / 1000} s` }), limitMs)
  })
  try {
    return await Promise.race([check(desk), late])
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { kind: 'no', note: `${brokeOff}${reason.slice(0, 1500)}` }
  } finally {
    clearTimeout(timer)
    await desk.close()
  }
}
