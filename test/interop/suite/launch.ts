import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Running } from './pair.ts'

const peers = new URL('../peers/', import.meta.url)
const startMs = 20_000

/** A program in `peers/`, as `node` runs it. */
export function program(name: string, ...args: string[]): { command: string; args: string[] } {
  return { command: process.execPath, args: ['--no-warnings', fileURLToPath(new URL(name, peers)), ...args] }
}

/** A server every connection starts anew. */
export const onStdio =
  (command: string, args: readonly string[]): (() => Promise<Running>) =>
  async () => ({ place: { command, args }, stop: async () => {} })

/** Starts a program that serves over HTTP and tells its URL in the first line it writes. */
export const onHttp =
  (name: string, transport: 'http' | 'sse', ...args: string[]): (() => Promise<Running>) =>
  async () => {
    const { command, args: all } = program(name, ...args)
    const child = spawn(command, all, { stdio: ['ignore', 'pipe', 'pipe'] })
    let errors = ''
    child.stderr.on('data', (chunk) => {
      errors = `${errors}${chunk}`.slice(-4000)
    })
    const lines = createInterface({ input: child.stdout })
    const signal = AbortSignal.timeout(startMs)
    const stop = async (): Promise<void> => {
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    }
    try {
      const ended = once(child, 'exit', { signal }).then(() => {
        throw new Error(`${name} ended: ${errors}`)
      })
      ended.catch(() => {})
      const [line] = await Promise.race([once(lines, 'line', { signal }), ended])
      return { place: { url: JSON.parse(line).url, transport }, stop }
    } catch (error) {
      await stop()
      throw error
    }
  }
