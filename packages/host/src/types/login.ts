import type { Revocation } from '@jackfield/sdk/client/auth'

/** Logins to servers. Before a page is opened, a question of the kind `login` is asked. */
export interface LoginService {
  /**
   * Opens the login page without a question; resolves when the server is connected. The event `login` has the URL of the page,
   * for another browser.
   * @throws McpError 'NOT_FOUND' for an unknown server, 'INVALID' for one that is disabled or a program; 'UNAUTHORIZED' if the login failed
   */
  signIn(server: string): Promise<void>
  /** Waits for the pending login question of a server, and for the login that follows if the user agrees. Never rejects. */
  pending(server: string): Promise<void> | undefined
  /**
   * Removes the tokens of a server and its cached lists, and revokes the tokens if the authorization server supports that. If
   * revocation fails, the result has the reason; the tokens are removed anyway.
   * @throws McpError 'NOT_FOUND' for an unknown server, 'INVALID' for a program, or one whose configuration contains credentials
   */
  signOut(server: string): Promise<Revocation>
}
