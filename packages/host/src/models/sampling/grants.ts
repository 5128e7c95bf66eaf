import { randomUUID } from 'node:crypto'
import { defined } from '@jackfield/sdk/internal'
import { entryOf } from '../../config/sampling-section.ts'
import { isOfUnknownUser } from '../../core/policy/grants.ts'
import type { SamplingTable } from '../../log/store/sampling-table.ts'
import type { Cause, SamplingGrant, SamplingSettings, SamplingStage } from '../../types/index.ts'

interface GrantEntry {
  grant: SamplingGrant & { id: string }
  identity: string
}

/** A grant that skips a review, in words for the log. */
interface SkippedReview {
  by: 'config' | 'conversation' | 'always'
  id?: string
}

/** Maximum grants for conversations; beyond that the oldest is dropped, and its review is asked for again. */
const maxConversationGrants = 1_000

/** Skipped reviews. Lasting grants belong to a server's identity, not to its name. */
export class SamplingGrants {
  readonly #table: SamplingTable
  readonly #settings: SamplingSettings
  readonly #identityOf: (server: string) => string | undefined
  /** Oldest first. */
  #conversationGrants: GrantEntry[] = []

  constructor(
    table: SamplingTable,
    settings: SamplingSettings,
    identityOf: (server: string) => string | undefined,
  ) {
    this.#table = table
    this.#settings = settings
    this.#identityOf = identityOf
  }

  /** The grant that skips this review for a server; undefined if the user is asked. */
  find(
    server: string,
    stage: SamplingStage,
    cause: Pick<Cause, 'caller' | 'conversation'>,
  ): SkippedReview | undefined {
    if (approvedByConfig(server, this.#settings).includes(stage)) return { by: 'config' }
    const identity = this.#identityOf(server)
    if (identity === undefined) return undefined
    const lastingGrant = this.#table
      .grants()
      .find((grant) => grant.identity === identity && grant.stage === stage && grant.server === server)
    if (lastingGrant !== undefined) return { by: 'always', id: lastingGrant.id }
    if (isOfUnknownUser(cause)) return undefined
    const conversationGrant = this.#conversationGrants.find(
      ({ grant, identity: grantIdentity }) =>
        grantIdentity === identity && grant.stage === stage && grant.within === cause.conversation,
    )
    return conversationGrant === undefined
      ? undefined
      : { by: 'conversation', id: conversationGrant.grant.id }
  }

  /** Returns whether the review is skipped from now on: a server or user that is not identified gets no grant. */
  add(
    server: string,
    stage: SamplingStage,
    scope: 'conversation' | 'always',
    cause: Pick<Cause, 'caller' | 'conversation'>,
    at: string,
  ): boolean {
    const identity = this.#identityOf(server)
    if (identity === undefined || (scope === 'conversation' && isOfUnknownUser(cause))) return false
    const known = this.find(server, stage, cause)
    if (known !== undefined && !(known.by === 'conversation' && scope === 'always')) return true
    const id = randomUUID()
    if (scope === 'always') {
      this.#table.addGrant({ id, identity, server, stage, at })
      return true
    }
    const within = defined({ within: cause.conversation })
    this.#conversationGrants.push({ identity, grant: { id, server, stage, scope, ...within, at } })
    if (this.#conversationGrants.length > maxConversationGrants) this.#conversationGrants.shift()
    return true
  }

  /** Removes the grants of a conversation that ended. */
  endConversation(conversation: string): void {
    this.#conversationGrants = this.#conversationGrants.filter(({ grant }) => grant.within !== conversation)
  }

  /** Those of the configuration first, then the user's grants, oldest first. */
  list(): SamplingGrant[] {
    const configured = Object.keys(this.#settings.servers ?? {}).flatMap((server) =>
      approvedByConfig(server, this.#settings).map((stage) => ({ server, stage, scope: 'config' as const })),
    )
    const lastingGrants = this.#table
      .grants()
      .map(({ id, server, stage, at }) => ({ id, server, stage, scope: 'always' as const, at }))
    const remembered = [...lastingGrants, ...this.#conversationGrants.map(({ grant }) => grant)]
    return [...configured, ...remembered.sort((a, b) => (a.at ?? '').localeCompare(b.at ?? ''))]
  }

  /** Revokes a grant and returns it. */
  remove(id: string): SamplingGrant | undefined {
    const grant = this.list().find((entry) => entry.id === id)
    const index = this.#conversationGrants.findIndex((entry) => entry.grant.id === id)
    if (index !== -1) this.#conversationGrants.splice(index, 1)
    else this.#table.removeGrant(id)
    return grant
  }
}

/** The reviews that the configuration skips for a server. */
function approvedByConfig(server: string, { servers }: SamplingSettings): readonly SamplingStage[] {
  return entryOf(servers, server)?.approve ?? []
}
