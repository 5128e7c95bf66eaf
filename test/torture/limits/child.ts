import { spawn } from 'node:child_process'
import { programFile } from '../../setup/program-file.ts'

/** What a program measured, by names. */
export type Measured = Readonly<Record<string, number>>

/**
 * Runs a program of this folder in a process of its own, so that its memory and time are measured alone, and returns what it
 * prints: one JSON object of numbers. Rejects with what it wrote to stderr when it fails.
 */
export async function measuredBy(
  program: string,
  input: object,
  watchdogMs = 100_000,
  nodeOptions: readonly string[] = [],
): Promise<Measured> {
  const path = programFile(new URL(program, import.meta.url))
  const args = ['--expose-gc', '--no-warnings', ...nodeOptions, path, JSON.stringify(input)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const watchdog = setTimeout(() => child.kill('SIGKILL'), watchdogMs)
  let output = ''
  let errors = ''
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  child.stderr.on('data', (chunk) => {
    errors += chunk
  })
  const code = await new Promise((resolve) => child.once('close', resolve))
  clearTimeout(watchdog)
  if (code !== 0) throw new Error(`${program} ended with ${code}: ${errors.slice(-4000)}`)
  const found: Measured = JSON.parse(output)
  return found
}

/** One of the numbers a program measured. */
export function figure(found: Measured, name: string): number {
  const value = found[name]
  if (value === undefined) throw new Error(`The program did not measure ${name}`)
  return value
}
