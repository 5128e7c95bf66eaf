import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parseArgs } from 'node:util'
import { z } from 'zod'

/** What every measured server offers: `echo`, and as many further tools as asked for. */
export const echoInput = z.object({ text: z.string() })
export const otherInput = z.object({
  query: z.string().describe('What to look for'),
  limit: z.number().int().min(1).max(100).optional().describe('How many results'),
  tags: z.array(z.string()).optional().describe('Only results with all of these'),
  exact: z.boolean().optional().describe('No fuzzy matches'),
})

export const { port, others } = readArguments()

function readArguments(): { port: number; others: string[] } {
  const { values } = parseArgs({
    options: { port: { type: 'string', default: '0' }, tools: { type: 'string', default: '1' } },
  })
  const count = Math.max(0, Number(values.tools) - 1)
  return {
    port: Number(values.port),
    others: Array.from({ length: count }, (_, at) => `tool_${at + 1}`),
  }
}

/** Serves a node:http listener on this machine only. */
export function listen(listener: RequestListener): void {
  const server = createServer(listener)
  server.keepAliveTimeout = 60_000
  server.listen(port, '127.0.0.1', () => ready((server.address() as AddressInfo).port))
}

/** Tells a parent process that started this one where it listens, and how much CPU time it used when asked. */
export function ready(at?: number): void {
  process.on('message', () => {
    const { user, system } = process.cpuUsage()
    process.send?.({ cpu: user + system })
  })
  process.on('disconnect', () => process.exit(0))
  process.send?.({ ready: true, port: at })
}
