import { pageKey, storageKey } from '../data/session.ts'

/** A browser that is logged in. */
export interface Session {
  readonly id: string
  readonly name: string
  readonly used: string
  readonly isThis: boolean
}

/** The sessions of a user. */
export interface Sessions {
  readonly sessions: readonly Session[]
  /** The user who signed in at the issuer; undefined on a local server. */
  readonly user?: string
  readonly hours?: number
}

/** Reads the sessions, including this one. */
export async function readSessions(): Promise<Sessions> {
  const sessions: Sessions = await (await proven('GET', '/sessions')).json()
  return sessions
}

/** Logs another browser out. */
export async function endSession(id: string): Promise<void> {
  await proven('DELETE', `/sessions/${encodeURIComponent(id)}`)
}

/**
 * Logs this browser out; the server then closes its sockets with the code `loginNeeded`. After a sign-in at an issuer, the browser
 * is sent there to end that session, too.
 */
export async function logOut(): Promise<void> {
  const response = await proven('POST', '/logout')
  localStorage.removeItem(storageKey)
  if (response.status === 204) return
  const { next }: { next: string } = await response.json()
  location.assign(next)
}

/** Sends a request with both secrets of the session. */
async function proven(method: string, path: string): Promise<Response> {
  const response = await fetch(path, { method, headers: { Authorization: `Bearer ${pageKey() ?? ''}` } })
  if (!response.ok) throw new Error((await response.text()).trim())
  return response
}
