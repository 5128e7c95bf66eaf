import type { AuthFetch } from '../network.ts'
import { pinnedBy } from '../pinned.ts'

/**
 * A fetch for authorization servers that connects to the very addresses that were checked, so that a name cannot
 * stand for another address a moment later. It follows no redirects and takes bodies that are texts. On Node it is
 * what requests are sent with by default.
 */
export const pinnedFetch: AuthFetch = async (url, init, addresses) => {
  const { request: plain } = await import('node:http')
  const { request: secure } = await import('node:https')
  return pinnedBy({ plain, secure })(url, init, addresses)
}
