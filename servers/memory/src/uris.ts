import type { GraphKey } from './types.ts'

/** The URIs of the resources. */
export const uris = {
  graph: 'memory://knowledge-graph',
  entityTemplate: 'memory://entities/{name}{?conversation}',
  /** The URI of an entity as the requests on its graph name it. */
  entity({ conversation }: Pick<GraphKey, 'conversation'>, name: string): string {
    const query = conversation.startsWith('n:') ? `?conversation=${percentEncode(conversation.slice(2))}` : ''
    return `memory://entities/${percentEncode(name)}${query}`
  },
} as const

/** Percent-encodes everything but unreserved characters, as a simple expansion of RFC 6570 does. */
function percentEncode(value: string): string {
  return encodeURIComponent(value).replaceAll(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}
