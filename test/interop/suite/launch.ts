import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { installedProgram, programFile } from '../../setup/program-file.ts'
import type { Running } from './pair.ts'
import type { ServerAddress } from './test-client.ts'

const peers = new URL('../peers/', import.meta.url)
const startMs = 20_000
/** Programs that cannot be bundled: they find packages while they run. */
const asSources: readonly string[] = ['everything.ts', 'fastmcp/main.ts']

/** A program in `peers/`, as `node` runs it. */
export function program(name: string, ...args: string[]): { command: string; args: string[] } {
  const source = new URL(name, peers)
  const file = asSources.includes(name) ? fileURLToPath(source) : programFile(source)
  return { command: process.execPath, args: ['--no-warnings', file, ...args] }
}

/** The program of an installed package, as `node` runs it. */
export function packaged(name: string, ...args: string[]): { command: string; args: string[] } {
  return { command: process.execPath, args: [installedProgram(name), ...args] }
}

/** A server that every connection starts. */
export const onStdio =
  (address: ServerAddress): (() => Promise<Running>) =>
  async () => ({ address, stop: async () => {} })

/** Starts a program that serves over HTTP and prints its URL as the first line. */
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
      return { address: { url, transport }, stop }
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
