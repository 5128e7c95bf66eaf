import type { Revocation } from '@jackfield/sdk/client/auth'

/** Signing in at servers that want it. What is asked before a page is opened is a question of the kind `login`. */
export interface LoginDesk {
  /**
   * Opens the page where the person signs in, since they ask for it; resolves when they did and the server is ready.
   * The event `login` tells of the page, for a browser elsewhere.
   * @throws McpError 'INVALID' for a server that is unknown, disabled or a program; 'UNAUTHORIZED' where they did not
   */
  signIn(server: string): Promise<void>
  /**
   * A question about signing in at a server, and the login that follows where the person agrees, while that is under
   * way. Never rejects.
   */
  pending(server: string): Promise<void> | undefined
  /**
   * Forgets the tokens for a server and what it listed, and tells the authorization server to revoke them where it
   * takes that. Where it cannot be told, the result says why; the person is signed out here all the same.
   * @throws McpError 'INVALID' for a server that is unknown or a program, or whose credentials its configuration holds
   */
  signOut(server: string): Promise<Revocation>
}
