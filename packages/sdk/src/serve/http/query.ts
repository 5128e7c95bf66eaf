import type { HttpRequest } from './face.ts'

/** The session id in the query of a request; undefined where there is none. */
export function sessionIdIn({ url }: HttpRequest): string | undefined {
  const at = url.indexOf('?')
  return at === -1 ? undefined : (new URLSearchParams(url.slice(at)).get('sessionId') ?? undefined)
}
