export const storageKey = 'jackfield.page-key'

/** Identifies this page, as the server that sent it knows it. */
export const pageBuild: string = document.querySelector<HTMLMetaElement>('meta[name=build]')?.content ?? ''

/** The page key of this browser; undefined if it is not logged in. */
export function pageKey(): string | undefined {
  return localStorage.getItem(storageKey) ?? undefined
}

/** Returns the login key in the fragment of the address and removes it from there; undefined if there is none. */
export function takeLoginKey(): string | undefined {
  const [, key] = /^#k=([\w-]+)$/.exec(location.hash) ?? []
  if (location.hash.startsWith('#k=')) history.replaceState(null, '', location.pathname + location.search)
  return key
}

/** Logs in with the key of a login link. Resolves with false if the key is wrong, used or expired. */
export async function logIn(key: string): Promise<boolean> {
  const response = await fetch('/login', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ key }),
  })
  if (!response.ok) return false
  const body: unknown = await response.json()
  if (typeof body !== 'object' || body === null || !('pageKey' in body) || typeof body.pageKey !== 'string')
    return false
  localStorage.setItem(storageKey, body.pageKey)
  return true
}
