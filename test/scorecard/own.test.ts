import { spawnSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { versionOf } from '../../scorecard/clis.ts'
import { readResults } from '../../scorecard/results.ts'
import { runScript } from '../../scorecard/run-script.ts'
import { scripts } from '../../scorecard/scripts/index.ts'
import type { Script } from '../../scorecard/types.ts'
import { terminalMissing } from '../../scripts/terminal/terminal.ts'

const { cells } = readResults()

/** Short scripts for behavior that no other test covers end to end. The others run with JACKFIELD_LONG=1. */
const quick: readonly string[] = [
  'modern-only-server',
  'answer-without-a-terminal',
  'silence-is-no-decline',
  'password-in-a-form',
  'folders-need-consent',
  'hidden-characters',
  'secret-stays-unseen',
  'failing-step',
]

function bubblewrapMissing(): string | undefined {
  const found = spawnSync('bwrap', ['--version'])
  return found.status === 0 ? undefined : 'the program "bwrap" (bubblewrap) is missing'
}

function inspectorMissing(): string | undefined {
  if (versionOf('inspector') !== undefined) return undefined
  return 'the inspector is missing; install it with npm ci --prefix scorecard'
}

/** The programs that scripts need. */
const needs: Readonly<Record<string, () => string | undefined>> = {
  'sampling-seen-and-changed': terminalMissing,
  'folders-enforced': bubblewrapMissing,
  'progress-shown': terminalMissing,
  'inputs-of-vs-code': terminalMissing,
  'gateway-for-mcpdo': inspectorMissing,
  'gateway-for-mcpdo-session': inspectorMissing,
  'gateway-for-inspector': inspectorMissing,
}

function chosen(): readonly Script[] {
  return process.env['JACKFIELD_LONG'] === '1' ? scripts : scripts.filter(({ id }) => quick.includes(id))
}

describe('jackfield in docs/scorecard.md', () => {
  for (const script of chosen()) {
    const missing = needs[script.id]?.()
    if (missing !== undefined) process.stderr.write(`${script.id} is not run: ${missing}\n`)
    test.skipIf(missing !== undefined)(
      `${script.id}: ${script.title}`,
      async () => {
        const verdict = await runScript(script, 'jackfield', 4)
        expect(verdict.kind, JSON.stringify(verdict)).toBe(cells[script.id]?.jackfield?.kind)
      },
      100_000,
    )
  }
})
