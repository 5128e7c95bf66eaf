/** The stdio transport of version 2 of the official SDK. */
import { StdioServerTransport } from '../server/stdio.ts'
import type { Transport } from '../shared/transport.ts'
import { NotCoveredError } from '../uncovered.ts'
import type { McpServerFactory } from './handler.ts'

export { StdioServerTransport }

export interface ServeStdioOptions {
  /** `reject` is not covered: all revisions are served. */
  legacy?: 'serve' | 'reject'
  transport?: Transport
  onerror?: (error: Error) => void
  /** Has no effect. */
  maxSubscriptions?: number
}

export interface StdioServerHandle {
  close(): Promise<void>
}

/** Serves one client on stdin and stdout, with one server of the factory for all revisions. */
export function serveStdio(factory: McpServerFactory, options: ServeStdioOptions = {}): StdioServerHandle {
  const { transport = new StdioServerTransport(), onerror } = options
  if (options.legacy === 'reject') {
    throw new NotCoveredError("legacy: 'reject'", 'Leave it out: all revisions are served')
  }
  const starting = (async () => {
    const server = await factory({ era: 'modern' })
    await server.connect(transport)
    return server
  })()
  starting.catch((error) => onerror?.(error instanceof Error ? error : new Error(String(error))))
  return {
    close: async () => (await starting).close(),
  }
}
