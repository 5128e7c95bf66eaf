import type { Target } from './discover.ts'
import type { Identity } from './identity.ts'
import type { Network } from './network.ts'
import type { ProofKey } from './proof.ts'
import type { Saved } from './saved.ts'
import type { CredentialStore } from './store.ts'
import type { Tokens } from './tokens.ts'

/** What tokens are wanted for, and what they are to be got with. */
export interface Need {
  readonly target: Target
  readonly scopes: readonly string[]
  readonly network: Network
  readonly store: CredentialStore
  /** The key they are to be bound to, if any. */
  readonly proof: ProofKey | undefined
  readonly signal: AbortSignal
}

/** One way of getting tokens. Every failure is an McpError 'UNAUTHORIZED' that says what to do. */
export interface Grant {
  /** Keeps its tokens apart from those of other grants in the same store. */
  readonly kind: string
  /** A person takes part in getting tokens, though not in renewing them. */
  readonly interactive: boolean
  /** Issuers this client has credentials of; empty where it takes any. */
  readonly issuers: readonly string[]
  obtain(need: Need): Promise<Tokens>
  canRenew(saved: Saved): boolean
  renew(saved: Saved, need: Need): Promise<Tokens>
  /** Who the authorization server knows the holder of these tokens as. Throws where that is not known here. */
  identify(saved: Saved, need: Need): Promise<Identity>
  /** The authorization server does not know this client any more. */
  disown?(issuer: string, clientId: string, store: CredentialStore): Promise<void>
}
