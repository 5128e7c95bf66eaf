import type { Offer } from '../suite/offer.ts'
import { fixtureWithout } from './fixture.ts'

/** `@modelcontextprotocol/server` 2 with sessions. Its high-level server gives lists whole. */
export const officialV2: Offer = fixtureWithout(['pages', 'explicit'])

/** The same at 2026-07-28, where a question that the client does not support is an error. */
export const officialV2Modern: Offer = {
  ...officialV2,
  cannotAsk: { call: { tool: 'ask' }, refusal: { as: 'error', code: -32021 } },
}

/** The legacy era without sessions: no question, change or log message finds a way to the client. */
export const officialV2Stateless: Offer = fixtureWithout(
  [
    'pages',
    'explicit',
    'log',
    'subscribe',
    'form',
    'choices',
    'twice',
    'together',
    'urlElicitation',
    'urlElicitationComplete',
    'model',
    'modelTools',
    'folders',
    'promptAsks',
    'forgetSessions',
    'letGo',
  ],
  { changes: {} },
)
