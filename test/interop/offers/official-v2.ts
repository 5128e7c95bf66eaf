import type { Offer } from '../suite/offer.ts'
import { fixtureWithout } from './fixture.ts'

/** `@modelcontextprotocol/server` 2 with sessions. Its high-level server gives lists whole. */
export const officialV2: Offer = fixtureWithout(['pages'])

/** The same at 2026-07-28, where a question that cannot be put is an error. */
export const officialV2Modern: Offer = {
  ...officialV2,
  cannotAsk: { call: { tool: 'ask' }, refusal: { as: 'error', code: -32021 } },
}
