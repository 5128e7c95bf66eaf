import type { HttpCaller } from '../serve/http/options.ts'
import type { Scheme } from './refusals.ts'

/** What a request shows to be let in. */
export type Credentials =
  | { readonly type: 'none' }
  | { readonly type: 'malformed'; readonly why: string }
  | { readonly type: 'token'; readonly scheme: Scheme; readonly token: string }

const maxTokenChars = 16_384
const authorization = /^(bearer|dpop)(?:[\t ]+(.*))?$/i
const token68 = /^[A-Za-z0-9._~+/-]+=*$/

/** Reads the one place a token may stand in: the Authorization header. */
export function credentialsOf(request: HttpCaller): Credentials {
  const { url } = request
  const query = url.indexOf('?')
  if (query !== -1 && new URLSearchParams(url.slice(query)).has('access_token')) {
    return malformed('An access token must not be part of the URL. Send it in the Authorization header')
  }
  if (request.repeats('authorization')) return malformed('There is more than one Authorization header')
  const [, scheme, token] = authorization.exec(request.header('authorization') ?? '') ?? []
  if (scheme === undefined) return { type: 'none' }
  if (token === undefined || token.length > maxTokenChars || !token68.test(token)) {
    return malformed('The Authorization header does not hold an access token')
  }
  return { type: 'token', scheme: scheme.toLowerCase() === 'dpop' ? 'DPoP' : 'Bearer', token }
}

function malformed(why: string): Credentials {
  return { type: 'malformed', why }
}
