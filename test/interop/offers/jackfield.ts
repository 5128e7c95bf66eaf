import type { Offer } from '../suite/offer.ts'
import { fixtureWithout } from './fixture.ts'

/** This project's server. Its sessions are not forgotten at a tool's wish. */
export const ours: Offer = fixtureWithout(['forgetSessions'])

/** The same where a question that the client does not support is an error. */
export const oursModern: Offer = {
  ...ours,
  cannotAsk: { call: { tool: 'ask' }, refusal: { as: 'error', code: -32021 } },
}
