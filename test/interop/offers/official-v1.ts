import type { Offer } from '../suite/offer.ts'
import { fixtureWithout } from './fixture.ts'

/** `@modelcontextprotocol/sdk` 1: its high-level server reports an unknown tool in a result. */
export const officialV1: Offer = fixtureWithout(['mirrored', 'explicit'], {
  unknownTool: { as: 'result' },
  pages: { method: 'resources/list', refusesBadCursor: true },
})
