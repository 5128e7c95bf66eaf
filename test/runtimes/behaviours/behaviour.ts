import type { ProtocolVersion } from '@jackfield/sdk'
import type { Client, ConnectOptions } from '@jackfield/sdk/client'
import { vi } from 'vitest'

/** The address of a server, and the revision to use. */
export interface Setting {
  readonly version: ProtocolVersion
  /** The endpoint of the open server. */
  readonly url: string
  /** Another path of the same origin. */
  at(path: string): string
  /** Meets the open server, or the one at a URL, at the setting's revision; closed after the test. */
  connect(options?: ConnectOptions, url?: string): Promise<Client>
  /** Has something done after the test. */
  later(work: () => unknown): void
}

/** Something every place must do. */
export interface Behaviour {
  title: string
  run(setting: Setting): Promise<void>
}

/** Waits until a condition is true. */
export function until(check: () => unknown): Promise<unknown> {
  return vi.waitFor(check, { timeout: 10_000, interval: 20 })
}

/** The text of a tool's answer. */
export async function text(client: Client, tool: string): Promise<string> {
  const { content } = await client.call(tool)
  const [first] = content
  return first?.type === 'text' ? first.text : ''
}
