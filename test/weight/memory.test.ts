import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { programFile } from '../setup/program-file.ts'

const run = promisify(execFile)
const program = programFile(new URL('programs/calls.ts', import.meta.url))

/** Bytes of the heap that one call on stdio takes, and what of them stays when it is over. */
async function weigh(era: string, tools: number): Promise<{ taken: number; kept: number }> {
  const flags = ['--expose-gc', '--min-semi-space-size=128', '--max-semi-space-size=128']
  const { stdout } = await run(process.execPath, [...flags, program, era, String(tools)])
  return JSON.parse(stdout)
}

describe('the memory of a call', () => {
  it.each(['modern', 'session'])('is bounded while it runs, and released after it: %s', async (era) => {
    const { taken, kept } = await weigh(era, 1)
    expect(taken).toBeGreaterThan(1000)
    expect(taken).toBeLessThan(16_000)
    expect(kept).toBeLessThan(200)
  })

  it('is no more among 500 tools than with one', async () => {
    const one = await weigh('modern', 1)
    const many = await weigh('modern', 500)
    expect(many.taken).toBeLessThan(one.taken * 1.5)
    expect(many.kept).toBeLessThan(200)
  })
})
