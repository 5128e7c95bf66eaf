import type { CallToolResult, ProtocolVersion, Server } from '@jackfield/sdk'
import { type Client, type ConnectOptions, connect } from '@jackfield/sdk/client'
import { type ProxiedServer, type ProxyOptions, proxy } from '@jackfield/sdk/compose'
import { type ServeHttpOptions, serveHttp } from '@jackfield/sdk/http'
import { onTestFinished } from 'vitest'

export const legacy = '2025-11-25'
export const modern = '2026-07-28'

/** Every way the two ends of a proxy can be of one era or another. */
export const combinations: readonly { up: ProtocolVersion; down: ProtocolVersion }[] = [
  { up: legacy, down: legacy },
  { up: legacy, down: modern },
  { up: modern, down: legacy },
  { up: modern, down: modern },
]

/** A proxy, gone when the test is over. */
export async function proxied(
  upstream: Parameters<typeof proxy>[0],
  options: ProxyOptions = {},
): Promise<ProxiedServer> {
  const served = await proxy(upstream, options)
  onTestFinished(() => served.close())
  return served
}

/** A client, gone when the test is over. */
export async function client(server: Server | string, options: ConnectOptions = {}): Promise<Client> {
  const connected: Client = await connect(server, options)
  onTestFinished(() => connected.close())
  return connected
}

export function textOf({ content }: CallToolResult): string {
  const [first] = content
  return first?.type === 'text' ? first.text : ''
}

/** Waits until something is so. */
export async function until(so: () => boolean, ms = 5_000): Promise<void> {
  const end = performance.now() + ms
  while (!so()) {
    if (performance.now() > end) throw new Error(`not so after ${ms} ms: ${so}`)
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}

/** Serves over HTTP until the test is over, and gives the URL. */
export async function served(server: Server, options: ServeHttpOptions = {}): Promise<string> {
  const handler = serveHttp(server, { keys: ['fleet'.repeat(8)], onWarning: () => {}, ...options })
  const { url, close } = await handler.listen()
  onTestFinished(close)
  return url
}
