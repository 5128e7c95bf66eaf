import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import type { Place } from './guest.ts'
import type { Running } from './pair.ts'

const peers = new URL('../peers/', import.meta.url)
const require = createRequire(import.meta.url)
const startMs = 20_000

/** A program in `peers/`, as `node` runs it. */
export function program(name: string, ...args: string[]): { command: string; args: string[] } {
  return { command: process.execPath, args: ['--no-warnings', fileURLToPath(new URL(name, peers)), ...args] }
}

/** The program of an installed package, as `node` runs it. */
export function packaged(name: string, ...args: string[]): { command: string; args: string[] } {
  const folder = dirname(require.resolve(`${name}/package.json`))
  return { command: process.execPath, args: [join(folder, 'dist/index.js'), ...args] }
}

/** A server every connection starts anew. */
export const onStdio =
  (place: Place): (() => Promise<Running>) =>
  async () => ({ place, stop: async () => {} })

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
    const stop = async (): Promise<void> => {
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    }
    const signal = AbortSignal.timeout(startMs)
    const ended = once(child, 'exit', { signal }).then(() => {
      throw new Error(`${name} ended: ${errors}`)
    })
    ended.catch(() => {})
    try {
      const url = await Promise.race([announced(child.stdout), ended])
      child.stdout.resume()
      return { place: { url, transport }, stop }
    } catch (error) {
      await stop()
      throw error
    }
  }

/** The URL in the first line that has one. */
async function announced(output: Readable): Promise<string> {
  let text = ''
  for await (const chunk of output.iterator({ destroyOnReturn: false })) {
    text += chunk
    const url = /^\{"url":"([^"]+)"\}$/m.exec(text)?.[1]
    if (url !== undefined) return url
  }
  throw new Error('The server closed its output')
}
