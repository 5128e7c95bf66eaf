import type { JsonObject } from '../jsonrpc/message.ts'

/** What a client can do for a server. */
export interface ClientCapabilities {
  experimental?: Record<string, JsonObject>
  roots?: { listChanged?: boolean }
  sampling?: { context?: JsonObject; tools?: JsonObject }
  /** Present but empty means forms only. */
  elicitation?: { form?: JsonObject; url?: JsonObject }
  extensions?: Record<string, JsonObject>
  /** Only on 2025-11-25. */
  tasks?: JsonObject
}

/** What a server offers. */
export interface ServerCapabilities {
  experimental?: Record<string, JsonObject>
  logging?: JsonObject
  completions?: JsonObject
  prompts?: { listChanged?: boolean }
  resources?: { subscribe?: boolean; listChanged?: boolean }
  tools?: { listChanged?: boolean }
  extensions?: Record<string, JsonObject>
  /** Only on 2025-11-25. */
  tasks?: { list?: JsonObject; cancel?: JsonObject; requests?: { tools?: { call?: JsonObject } } }
}
