import type { Offer } from '../suite/offer.ts'
import { fixture, fixtureWithout } from './fixture.ts'

const tea = {
  name: 'Grace',
  email: 'grace@example.org',
  cups: 3,
  strength: 1,
  milk: false,
  tea: 'green',
  with: ['lemon'],
}

/**
 * tmcp 1. It hides the `_meta` of a request from its handlers, drops annotations of content, knows no tools for
 * sampling, cannot take a tool away, and has no resumption. Its forms come from Standard Schemas.
 */
const common: Offer = fixtureWithout(
  [
    'mirrored',
    'explicit',
    'meta',
    'letGo',
    'forgetSessions',
    'urlElicitationRequired',
    'urlElicitationComplete',
    'together',
    'modelTools',
  ],
  {
    contents: fixture.contents.filter(({ call }) => call.tool !== 'annotated'),
    throws: { call: { tool: 'throws' }, refusal: { as: 'error' } },
    unknownTool: { as: 'result' },
    pages: { method: 'tools/list', refusesBadCursor: false },
    changes: { ...fixture.changes, tools: { call: { tool: 'change_tools' }, name: 'late_tool' } },
    choices: {
      call: { tool: 'ask_choices' },
      accept: tea,
      properties: {
        name: { type: 'string', default: 'Ada' },
        email: { type: 'string', format: 'email' },
        cups: { type: 'integer', minimum: 1, maximum: 9 },
        milk: { type: 'boolean' },
        tea: { type: 'string', enum: ['black', 'green'] },
        with: { type: 'array', items: { enum: ['sugar', 'lemon', 'honey'] } },
      },
      outcome: { content: [{ text: JSON.stringify({ action: 'accept', content: tea }) }] },
    },
    refuses: ['2025-11-25'],
  },
)

/** At 2026-07-28 it does not ask for folders. Over stdio cancelling stops no handler. */
export function tmcpModern(transport: 'stdio' | 'http'): Offer {
  const { folders: _, ...offer } = common
  return {
    ...offer,
    wait: { ...fixture.wait, stops: transport === 'http' },
    cannotAsk: { call: { tool: 'ask' }, refusal: { as: 'error', code: -32021 } },
  }
}

/** In a session over stdio one request is served after the other. */
export function tmcpLegacy(transport: 'stdio' | 'http'): Offer {
  const offer: Offer = { ...common, cannotAsk: { call: { tool: 'ask' }, refusal: { as: 'error' } } }
  if (transport === 'http') return offer
  const { wait: _, slow: __, ...left } = offer
  return left
}
