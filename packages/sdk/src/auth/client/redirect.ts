import { AuthorizationResponseError, validateAuthResponse } from 'oauth4webapi'
import { excerpt, McpError } from '../../jsonrpc/error.ts'
import { orAborted } from '../../jsonrpc/promises.ts'
import type { DiscoveredIssuer } from './discovery.ts'
import { authError } from './network.ts'

/** Sends the user to a login page and receives the callback. */
export interface Redirect {
  /**
   * Prepares one login. `last` is the redirect URI of the last registration, if any; reusing it avoids another
   * registration.
   */
  begin(last: string | undefined): Promise<RedirectSession>
}

/** One login: its redirect URI and its callback. */
export interface RedirectSession {
  /** The redirect URI: https, or http on a loopback address. */
  readonly uri: string
  /** Opens the login page and resolves with the callback URL. The signal cancels the login. */
  open(url: URL, signal: AbortSignal): Promise<URL>
  /** Called once when the login has ended, with or without success. */
  close(): Promise<void>
}

/** Options of `manual`. */
export interface ManualOptions {
  /** The redirect URI of this client. The page need not exist: only its URL is needed. */
  redirectUri: string
  /** Shows the login URL to the user and resolves with the URL that the browser was redirected to. */
  ask: (loginUrl: URL, signal: AbortSignal) => Promise<string | URL>
}

/** A login whose callback URL the user copies, for environments without a browser or a local port. */
export function manual({ redirectUri, ask }: ManualOptions): Redirect {
  return {
    begin: async () => ({
      uri: redirectUri,
      async open(url, signal) {
        const answer = String(await orAborted(ask(url, signal), signal)).trim()
        if (URL.canParse(answer)) return new URL(answer)
        throw new McpError(
          'UNAUTHORIZED',
          `The input is not a URL. Log in again, and copy the whole address from the browser; it starts with ${redirectUri}`,
        )
      },
      close: async () => {},
    }),
  }
}

interface ExpectedCallback {
  readonly server: DiscoveredIssuer
  readonly clientId: string
  readonly redirectUri: string
  readonly state: string
}

/**
 * The authorization code of a callback URL, after validating the redirect URI, `state` and `iss` (RFC 9207).
 * @throws McpError 'UNAUTHORIZED', which quotes the response only after its origin is verified
 */
export function readCode(callback: URL, { server, clientId, redirectUri, state }: ExpectedCallback): string {
  const { issuer, metadata } = server
  const foreign = 'The response to the login is not for this login, so it is not used'
  const expected = new URL(redirectUri)
  if (callback.origin !== expected.origin || callback.pathname !== expected.pathname) {
    throw authError(
      `${foreign}: its redirect URI differs. Log in again, and copy the whole URL if you paste it`,
    )
  }
  const params = callback.searchParams
  const states = params.getAll('state')
  if (states.length !== 1 || states[0] !== state) {
    throw authError(`${foreign}: its "state" does not match. Log in again`)
  }
  const issuers = params.getAll('iss')
  const wants = metadata.authorization_response_iss_parameter_supported === true
  if (issuers.length > 1 || (issuers.length === 0 && wants) || issuers.some((one) => one !== issuer)) {
    const what = issuers.length === 0 ? 'it names none' : 'it names another one'
    throw authError(
      `${foreign}: it must name the authorization server ${issuer}, and ${what}. Log in again; if this repeats, it may be a mix-up attack`,
    )
  }
  try {
    const valid = validateAuthResponse(metadata, { client_id: clientId }, params, state)
    const code = valid.get('code')
    if (code !== null && code !== '') return code
  } catch (error) {
    if (error instanceof AuthorizationResponseError) throw denied(error, issuer)
  }
  throw authError('The response to the login contains no authorization code. Log in again')
}

function denied({ error, error_description: text }: AuthorizationResponseError, issuer: string): unknown {
  const suffix = text === undefined ? '' : ` (${excerpt(text)})`
  const next =
    error === 'access_denied'
      ? 'Log in again and allow the access, or do without this server'
      : 'Log in again, or contact its operator'
  return authError(
    `The authorization server ${issuer} refused the login: ${excerpt(error)}${suffix}. ${next}`,
    {
      error,
      issuer,
    },
  )
}
