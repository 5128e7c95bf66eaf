import { type Client, type ConnectOptions, connect, type Target } from '@jackfield/sdk/client'
import { serveHttp } from '@jackfield/sdk/http'
import { onTestFinished } from 'vitest'
import { shop } from './shop.ts'

export const text = (value: string) => [{ type: 'text', text: value }]

interface Connection {
  name: string
  era: 'session' | 'stateless'
  open(options?: ConnectOptions): Promise<{ client: Client; log: string[]; shop: ReturnType<typeof shop> }>
}

export function connectionOver(
  transport: 'memory' | 'http',
  revision: '2026-07-28' | '2025-11-25' | '2025-06-18',
): Connection {
  return {
    name: `${transport}, ${revision}`,
    era: revision === '2026-07-28' ? 'stateless' : 'session',
    async open(options = {}) {
      const made = shop()
      let target: Target = made.server
      if (transport === 'http') {
        const handler = serveHttp(made.server, { keys: ['k'.repeat(32)] })
        const listener = await handler.listen({ port: 0 })
        onTestFinished(async () => {
          await listener.close()
          await handler.close()
        })
        target = listener.url
      }
      const client: Client = await connect(target, { revisions: [revision], ...options })
      onTestFinished(() => client.close())
      return { client, log: made.log, shop: made }
    },
  }
}
