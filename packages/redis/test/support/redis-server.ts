import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from '@redis/client'
import { onTestFinished } from 'vitest'
import { freePort } from '../../../../test/setup/ports.ts'

/** Whether tests with a real Redis can run, and what their titles end with where they cannot. */
export const isThere: boolean = spawnSync('redis-server', ['--version']).status === 0
export const left: string = isThere ? '' : ' (needs the program redis-server, which is not installed)'

/** What makes a Redis keep whatever it answered, also when it is killed. */
export const forgetsNothing: readonly string[] = ['--appendonly', 'yes', '--appendfsync', 'always']

/** A Redis of one test: a process on its own port, which ends with the test and removes its folder. */
export class RedisServer {
  readonly port: number
  readonly #dir: string
  readonly #args: readonly string[]
  #child: ChildProcess | undefined

  private constructor(port: number, dir: string, args: readonly string[]) {
    this.port = port
    this.#dir = dir
    this.#args = args
  }

  /** Starts one for the running test; `args` are added to its command line. */
  static async start(...args: string[]): Promise<RedisServer> {
    const server = await RedisServer.launch(...args)
    onTestFinished(() => server.stop())
    return server
  }

  /** Starts one that several tests use, until it is stopped. */
  static async launch(...args: string[]): Promise<RedisServer> {
    const dir = mkdtempSync(join(tmpdir(), 'jackfield-redis-'))
    const server = new RedisServer(await freePort(), dir, args)
    try {
      await server.restart()
      return server
    } catch (error) {
      await server.stop()
      throw error
    }
  }

  /** Ends it, and removes its folder. */
  async stop(): Promise<void> {
    await this.kill()
    rmSync(this.#dir, { recursive: true, force: true })
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`
  }

  /** Starts it, anew where it was killed; settles when it answers. */
  async restart(): Promise<void> {
    await this.kill()
    const place = ['--bind', '127.0.0.1', '--port', String(this.port), '--dir', this.#dir]
    const child = spawn('redis-server', [...place, '--save', '', ...this.#args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    this.#child = child
    let printed = ''
    for await (const text of child.stdout.iterator({ destroyOnReturn: false })) {
      printed += String(text)
      if (printed.includes('Ready to accept connections')) break
    }
    if (!printed.includes('Ready to accept connections'))
      throw new Error(`redis-server did not start: ${printed}`)
    child.stdout.resume()
  }

  /** Stops its clock: connections stay, and nothing is answered. */
  pause(): void {
    this.#child?.kill('SIGSTOP')
  }

  resume(): void {
    this.#child?.kill('SIGCONT')
  }

  async kill(): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  }

  /** What a command answers, sent by a client of the test's own. */
  async ask(...args: string[]): Promise<unknown> {
    const client = createClient({ url: this.url })
    await client.connect()
    try {
      return await client.sendCommand(args)
    } finally {
      client.destroy()
    }
  }
}
