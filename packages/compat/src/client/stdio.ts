/** The stdio transport of a client: `stdio` of Jackfield behind the class of the official SDK. */
import type { IOType } from 'node:child_process'
import { PassThrough, type Stream } from 'node:stream'
import type { Target } from '@jackfield/sdk/client'
import { defaultEnvironment, stdio } from '@jackfield/sdk/client/stdio'
import type { JSONRPCMessage } from '../types.ts'
import { NotCoveredError } from '../uncovered.ts'
import type { ConnectingTransport } from './connecting.ts'

export type StdioServerParameters = {
  command: string
  args?: string[]
  /** Variables besides the default ones. */
  env?: Record<string, string>
  /** `inherit` (default) writes to this process's stderr, `pipe` to `transport.stderr`, `ignore` nowhere. */
  stderr?: IOType | Stream | number
  cwd?: string
  /** Maximum bytes of one message. Default 4 MiB. */
  maxBufferSize?: number
}

/** The names of the variables that a server gets by default. */
export const DEFAULT_INHERITED_ENV_VARS: string[] = Object.keys(defaultEnvironment())

/** The variables that a server gets by default: those without secrets. */
export function getDefaultEnvironment(): Record<string, string> {
  return defaultEnvironment()
}

export class StdioClientTransport implements ConnectingTransport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void
  readonly #server: StdioServerParameters
  readonly #stderr: PassThrough | undefined
  #close: (() => Promise<void>) | undefined

  constructor(server: StdioServerParameters) {
    const { stderr = 'inherit' } = server
    if (
      typeof stderr === 'number' ||
      typeof stderr === 'object' ||
      !['inherit', 'pipe', 'overlapped', 'ignore'].includes(stderr)
    ) {
      throw new NotCoveredError(
        'this value of "stderr"',
        "Use 'inherit', 'pipe' or 'ignore', and read transport.stderr",
      )
    }
    this.#server = server
    this.#stderr = stderr === 'pipe' || stderr === 'overlapped' ? new PassThrough() : undefined
  }

  /** What the server writes to stderr, with `stderr: 'pipe'`. */
  get stderr(): Stream | null {
    return this.#stderr ?? null
  }

  /** Not known: Jackfield starts and ends the process with all that it starts. */
  get pid(): number | null {
    return null
  }

  '~target'(): Target {
    const { command, args = [], env = {}, cwd, stderr = 'inherit', maxBufferSize } = this.#server
    const factory = stdio({
      command,
      args,
      env,
      ...(cwd === undefined ? {} : { cwd }),
      ...(maxBufferSize === undefined ? {} : { maxFrameBytes: maxBufferSize }),
      onStderr: (text) => {
        if (stderr === 'inherit') process.stderr.write(text)
        else this.#stderr?.write(text)
      },
    })
    return () => {
      const transport = factory()
      this.#close = () => transport.close()
      return transport
    }
  }

  async start(): Promise<void> {
    throw new NotCoveredError(
      'a StdioClientTransport without a client',
      'Give it to client.connect(transport)',
    )
  }

  async send(): Promise<void> {
    return this.start()
  }

  async close(): Promise<void> {
    await this.#close?.()
  }
}
