import { CheckFailed } from './checks.ts'
import { scriptError } from './results.ts'
import type { Cli, Script, Verdict } from './types.ts'
import { openWorkspace } from './workspace.ts'

const scriptTimeoutMs = 20_000

/**
 * Checks one command line with one script, in a workspace of its own.
 * @param patience factor for timeouts, for a busy machine
 */
export async function runScript(script: Script, cli: Cli, patience = 1): Promise<Verdict> {
  const timeoutMs = scriptTimeoutMs * patience
  const check = script.checks[cli]
  if (typeof check !== 'function') return check
  const workspace = await openWorkspace(patience)
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<Verdict>((resolve) => {
    const note = `not finished within ${timeoutMs / 1000} s`
    timer = setTimeout(() => resolve({ kind: 'no', note }), timeoutMs)
  })
  try {
    return await Promise.race([check(workspace), timeout])
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    const prefix = error instanceof CheckFailed ? '' : scriptError
    return { kind: 'no', note: `${prefix}${reason.slice(0, 1500)}` }
  } finally {
    clearTimeout(timer)
    await workspace.close()
  }
}
