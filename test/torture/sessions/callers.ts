import { bearer } from '@jackfield/sdk/auth'
import type { Authenticate } from '@jackfield/sdk/http'

const resource = 'https://vault.example.com/mcp'
const issuer = 'https://as.example.com'

/** Who calls a vault, and the word that is theirs alone. */
export const words: Readonly<Record<string, string>> = {
  alice: 'albatross-7f3a9c',
  mallory: 'magpie-11e0d2',
}

/** The principal of a caller. */
export const principalOf = (who: string): string => `${issuer}|${who}`

/** The word of a principal. */
export const wordOf = (principal: string | null): string => words[principal?.split('|')[1] ?? ''] ?? 'nobody'

/** Takes the name of a subject for its token: whose token it is does not matter here, only that it is good. */
export const authenticate: Authenticate = bearer({
  resource,
  authorizationServers: [issuer],
  verify: async (token) => (token in words ? { sub: token, aud: resource } : undefined),
})
