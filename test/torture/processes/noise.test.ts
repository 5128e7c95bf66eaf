import { connect } from '@jackfield/sdk/client'
import { stdio } from '@jackfield/sdk/client/stdio'
import { expect, onTestFinished } from 'vitest'
import { programFile } from '../../setup/program-file.ts'
import { campaign } from '../campaign.ts'
import { untilSettled } from './trials.ts'

const program = programFile(new URL('noisy-server.ts', import.meta.url))
const linesPerCall = 100
const hungMs = 60_000
/** Warnings of one connection, before it falls silent. */
const maxWarnings = 20

async function listen(version: '2025-03-26' | '2025-11-25', lines: number, seed: number): Promise<number> {
  const warnings: string[] = []
  const logs: unknown[] = []
  const client = await connect(
    stdio({ command: process.execPath, args: [program, version, String(seed), String(linesPerCall)] }),
    {
      revisions: [version],
      onWarning: (warning) => warnings.push(warning),
      onLog: ({ data }) => logs.push(data),
    },
  )
  onTestFinished(() => client.close())
  const calls = Math.ceil(lines / linesPerCall)
  for (let call = 0; call < calls; call++) {
    const answer = await untilSettled(client.call(`call ${call}`), hungMs, `call ${call}`)
    expect(answer.content).toEqual([{ type: 'text', text: `call ${call}` }])
  }
  expect(logs).toEqual(Array.from({ length: calls }, (_, n) => n))
  expect(warnings.length).toBe(maxWarnings)
  expect(warnings.at(-1)).toContain('not shown')
  for (const warning of warnings) {
    expect(warning.length).toBeLessThan(500)
    expect(warning).not.toMatch(/[\p{Cc}\u2028\u2029]/u)
  }
  return calls
}

campaign(
  {
    id: 'stdout-noise',
    chapter: 'Processes',
    claim: 'Every message of a server is delivered, whatever else it writes to its output',
    trial: 'line that is no message, between messages',
    trials: { test: 8_000, change: 20_000, long: 2_000_000 },
  },
  async ({ trials, seed, measured }) => {
    const calls = await Promise.all([
      listen('2025-03-26', trials / 2, seed),
      listen('2025-11-25', trials / 2, seed + 1),
    ])
    measured('messages delivered in order', 2 * calls.reduce((sum, count) => sum + count), '')
  },
)
