import type { AuthFetch } from '../network.ts'
import { pinnedBy, type Senders } from '../pinned.ts'

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

/**
 * A fetch for authorization servers over senders of your own, such as ones that go through a proxy: they get the request,
 * with a `lookup` among the addresses that were checked. It follows no redirects and takes bodies that are texts.
 */
export function fetchWith(senders: Senders): AuthFetch {
  return pinnedBy(senders)
}
