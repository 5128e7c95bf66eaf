import { webApp } from './app.ts'

/** Every request of every client comes here, so sessions and changes are shared. */
export class Mcp {
  readonly #app = webApp()

  fetch(request: Request): Promise<Response> {
    return this.#app.fetch(request)
  }
}

interface Env {
  readonly MCP: { getByName(name: string): { fetch(request: Request): Promise<Response> } }
}

export default {
  fetch: (request: Request, { MCP }: Env): Promise<Response> => MCP.getByName('mcp').fetch(request),
}
