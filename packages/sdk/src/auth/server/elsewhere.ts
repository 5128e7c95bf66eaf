import { Network } from '../client/network.ts'
import type { IssuerOptions } from './issuer.ts'

/** Reaches what an issuer names on other hosts than its own, as far as it may be reached from where the issuer is. */
export function issuerNetwork({ issuer, fetch: own, lookup, plainHttp }: IssuerOptions): Network {
  const at = new URL(issuer)
  if (own === undefined) return new Network(at, { plainHttp, lookup })
  // Whoever sends the requests in another way may resolve names in another way too.
  return new Network(at, { plainHttp, fetch: (url, init) => own(url.href, init), lookup: lookup ?? 'none' })
}
