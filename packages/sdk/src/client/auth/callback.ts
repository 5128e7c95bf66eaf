import { AuthorizationResponseError, validateAuthResponse } from 'oauth4webapi'
import { shown } from '../../jsonrpc/shown.ts'
import type { Described } from './discover-server.ts'
import { refused } from './network.ts'

/** What was written down before the person was sent away. */
export interface Expected {
  readonly server: Described
  readonly clientId: string
  readonly redirectUri: string
  readonly state: string
}

/**
 * The authorization code in the URL the person came back with, once everything about it is as expected.
 * @throws McpError 'UNAUTHORIZED'; nothing the response says is shown before it is known where it comes from
 */
export function codeIn(callback: URL, { server, clientId, redirectUri, state }: Expected): string {
  const { issuer, metadata } = server
  const foreign = 'The answer to the login is not from where the login was begun, so it is not used'
  const expected = new URL(redirectUri)
  if (callback.origin !== expected.origin || callback.pathname !== expected.pathname) {
    throw refused(
      `${foreign}: it came to another address. Log in again, and copy the whole URL if you paste it`,
    )
  }
  const params = callback.searchParams
  const states = params.getAll('state')
  if (states.length !== 1 || states[0] !== state) {
    throw refused(`${foreign}: its "state" is not the one that was sent. Log in again`)
  }
  const issuers = params.getAll('iss')
  const wants = metadata.authorization_response_iss_parameter_supported === true
  if (issuers.length > 1 || (issuers.length === 0 && wants) || issuers.some((one) => one !== issuer)) {
    const what = issuers.length === 0 ? 'it does not say' : 'it names another one'
    throw refused(
      `${foreign}: it should come from the authorization server ${issuer}, and ${what}. Log in again; if this happens again, somebody may be trying to mix up two logins`,
    )
  }
  try {
    const valid = validateAuthResponse(metadata, { client_id: clientId }, params, state)
    const code = valid.get('code')
    if (code !== null && code !== '') return code
  } catch (error) {
    if (error instanceof AuthorizationResponseError) throw denied(error, issuer)
  }
  throw refused('The answer to the login holds no authorization code. Log in again')
}

function denied({ error, error_description: text }: AuthorizationResponseError, issuer: string): unknown {
  const why = text === undefined ? '' : ` (${shown(text)})`
  const next =
    error === 'access_denied'
      ? 'Log in again and allow the access, or do without this server'
      : 'Log in again, or tell whoever runs it'
  return refused(
    `The authorization server ${issuer} refused the login: ${shown(error)}${why}. ${next}`,
    undefined,
    {
      error,
      issuer,
    },
  )
}
