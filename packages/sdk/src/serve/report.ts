import type { Server } from '../server/server.ts'

/** Reports a failure the peer is not shown. A reporter that fails itself must not take the request with it. */
export function report(server: Server, error: unknown, method: string, name?: string): void {
  try {
    server.report(error, name === undefined ? { method } : { method, name })
  } catch {
    // Nobody is left to tell.
  }
}
