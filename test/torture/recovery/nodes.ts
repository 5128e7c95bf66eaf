import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { onTestFinished } from 'vitest'
import { programFile } from '../../setup/program-file.ts'

const program = programFile(new URL('node-program.ts', import.meta.url))

/** One node of a service, a process that can be killed and restarted; it ends with the test. */
export class Node {
  readonly #ledger: string
  #child: ChildProcess | undefined
  #port: number | undefined

  constructor(ledger: string) {
    this.#ledger = ledger
    onTestFinished(() => this.kill())
  }

  /** Where it listens; undefined while it is down. */
  get port(): number | undefined {
    return this.#port
  }

  async start(): Promise<void> {
    const child = spawn(process.execPath, [program, this.#ledger], { stdio: ['ignore', 'pipe', 'inherit'] })
    this.#child = child
    const [portLine] = await once(child.stdout, 'data')
    this.#port = Number(String(portLine))
  }

  async kill(): Promise<void> {
    const child = this.#child
    this.#port = undefined
    this.#child = undefined
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
}
