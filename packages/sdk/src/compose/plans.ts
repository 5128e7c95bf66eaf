import { isObject } from '../jsonrpc/parse.ts'
import { type HeaderPlan, headerPlan } from '../protocol/headers.ts'

const maxTools = 10_000

/** Which arguments of an upstream server's tools travel as headers, as far as their list was seen. */
export class Plans {
  readonly #byTool = new Map<string, HeaderPlan | undefined>()

  get(tool: string): HeaderPlan | undefined {
    return this.#byTool.get(tool)
  }

  /** Takes note of listed tools. */
  learn(tools: unknown): void {
    if (!Array.isArray(tools)) return
    for (const tool of tools) {
      if (!isObject(tool) || typeof tool['name'] !== 'string' || !isObject(tool['inputSchema'])) continue
      this.#byTool.delete(tool['name'])
      this.#byTool.set(tool['name'], planOf(tool['inputSchema']))
    }
    for (const oldest of this.#byTool.keys()) {
      if (this.#byTool.size <= maxTools) break
      this.#byTool.delete(oldest)
    }
  }

  /** Forgets every tool: they changed. */
  clear(): void {
    this.#byTool.clear()
  }
}

/** A tool whose annotations break a rule mirrors nothing: clients leave it out by themselves. */
function planOf(inputSchema: Record<string, unknown>): HeaderPlan | undefined {
  try {
    const plan = headerPlan(inputSchema)
    return plan.length === 0 ? undefined : plan
  } catch {
    return undefined
  }
}
