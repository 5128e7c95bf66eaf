import { AuthorizationResponseError, validateAuthResponse } from 'oauth4webapi'
import { orAborted } from '../../client/call-deadline.ts'
import { excerpt, McpError } from '../../jsonrpc/error.ts'
import type { DiscoveredIssuer } from './discovery.ts'
import { authError } from './network.ts'

/** Sends a person to a login page and gets them back. */
export interface Redirect {
  /**
   * Prepares for one login. `last` is the redirect URI this client is registered with, if it is; using the same
   * one again saves a registration.
   */
  begin(last: string | undefined): Promise<RedirectSession>
}

/** One login. */
export interface RedirectSession {
  /** Where the authorization server sends the person back to: https, or http on a loopback address. */
  readonly uri: string
  /** Shows the login page; resolves with the whole URL the person came back with. The signal gives up. */
  open(url: URL, signal: AbortSignal): Promise<URL>
  /** Called once, when the login is over, however it ended. */
  close(): Promise<void>
}

/** A login the person carries over by hand. */
export interface ManualOptions {
  /** The redirect URI of this client. The page there need not exist: its URL is all that is needed. */
  redirectUri: string
  /** Shows the login URL to the person, and gives the URL they were sent back to. */
  ask: (loginUrl: URL, signal: AbortSignal) => Promise<string | URL>
}

/** A login whose result the person copies by hand, for where no browser can be opened or no port listened on. */
export function manual({ redirectUri, ask }: ManualOptions): Redirect {
  return {
    begin: async () => ({
      uri: redirectUri,
      async open(url, signal) {
        const answer = String(await orAborted(ask(url, signal), signal)).trim()
        if (URL.canParse(answer)) return new URL(answer)
        throw new McpError(
          'UNAUTHORIZED',
          `What was given is not a URL. Log in again, and copy the whole address the browser ended on; it begins with ${redirectUri}`,
        )
      },
      close: async () => {},
    }),
  }
}

/** What was written down before the person was sent away. */
export interface ExpectedCallback {
  readonly server: DiscoveredIssuer
  readonly clientId: string
  readonly redirectUri: string
  readonly state: string
}

/**
 * The authorization code in the URL the person came back with, once everything about it is as expected.
 * @throws McpError 'UNAUTHORIZED'; nothing the response says is shown before it is known where it comes from
 */
export function readCode(callback: URL, { server, clientId, redirectUri, state }: ExpectedCallback): string {
  const { issuer, metadata } = server
  const foreign = 'The answer to the login is not from where the login was begun, so it is not used'
  const expected = new URL(redirectUri)
  if (callback.origin !== expected.origin || callback.pathname !== expected.pathname) {
    throw authError(
      `${foreign}: it came to another address. Log in again, and copy the whole URL if you paste it`,
    )
  }
  const params = callback.searchParams
  const states = params.getAll('state')
  if (states.length !== 1 || states[0] !== state) {
    throw authError(`${foreign}: its "state" is not the one that was sent. Log in again`)
  }
  const issuers = params.getAll('iss')
  const wants = metadata.authorization_response_iss_parameter_supported === true
  if (issuers.length > 1 || (issuers.length === 0 && wants) || issuers.some((one) => one !== issuer)) {
    const what = issuers.length === 0 ? 'it does not say' : 'it names another one'
    throw authError(
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
  throw authError('The answer to the login holds no authorization code. Log in again')
}

function denied({ error, error_description: text }: AuthorizationResponseError, issuer: string): unknown {
  const why = text === undefined ? '' : ` (${excerpt(text)})`
  const next =
    error === 'access_denied'
      ? 'Log in again and allow the access, or do without this server'
      : 'Log in again, or tell whoever runs it'
  return authError(
    `The authorization server ${issuer} refused the login: ${excerpt(error)}${why}. ${next}`,
    undefined,
    {
      error,
      issuer,
    },
  )
}
