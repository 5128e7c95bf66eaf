import { McpError } from '../../jsonrpc/error.ts'
import { orAborted } from '../scope.ts'

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
