import type { Offer } from '../suite/offer.ts'
import { fixture, fixtureWithout } from './fixture.ts'

/**
 * mcp-lite 0.10. It has no instructions, log messages, subscriptions, completion, pages, URL elicitations, folders or
 * resumption, stops no handler, and accepts unknown session ids.
 */
export const mcpLite: Offer = fixtureWithout(
  [
    'mirrored',
    'explicit',
    'instructions',
    'log',
    'subscribe',
    'pages',
    'urlElicitation',
    'urlElicitationRequired',
    'urlElicitationComplete',
    'together',
    'modelTools',
    'folders',
    'promptAsks',
    'forgetSessions',
    'letGo',
    'exit',
  ],
  {
    capabilities: ['tools', 'resources', 'prompts'],
    completions: [],
    throws: { call: { tool: 'throws' }, refusal: { as: 'error' } },
    unknownTool: { as: 'error', code: -32601 },
    badArguments: { ...fixture.badArguments, refusal: { as: 'error' } },
    wait: { ...fixture.wait, stops: false },
    resources: { ...fixture.resources, missing: { uri: 'fixture://nothing-here', codes: [-32601] } },
    changes: { ...fixture.changes, tools: { call: { tool: 'change_tools' }, name: 'late_tool' } },
    // Of what a field may say about its value it hands on the type, the title and the choices.
    form: {
      ...fixture.form,
      shows: [
        { message: 'What is your name?', requestedSchema: { properties: { name: { type: 'string' } } } },
      ],
    },
    cannotAsk: { call: { tool: 'ask' }, refusal: { as: 'error', code: -32601 } },
    refuses: ['2024-11-05'],
  },
)

/** At 2025-03-26, which it falls back to, it refuses the stream for change notifications. */
export const mcpLiteOlder: Offer = { ...mcpLite, changes: {} }
