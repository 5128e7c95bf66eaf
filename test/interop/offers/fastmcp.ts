import type { Offer } from '../suite/offer.ts'
import { fixture, fixtureWithout } from './fixture.ts'

/**
 * fastmcp 4. Its tools have no titles and do not see a request's `_meta`; content has no annotations; progress has no
 * words; the level a client sets for log messages is kept and not used; completers do not see other arguments.
 */
export const fastmcp: Offer = fixtureWithout(
  [
    'mirrored',
    'explicit',
    'meta',
    'pages',
    'urlElicitationRequired',
    'urlElicitationComplete',
    'together',
    'modelTools',
    'promptAsks',
    'forgetSessions',
    'letGo',
  ],
  {
    contents: fixture.contents.filter(({ call }) => call.tool !== 'annotated'),
    described: {
      tool: 'add',
      description: 'Adds two numbers',
      annotations: { readOnlyHint: true, openWorldHint: false },
      required: ['a', 'b'],
    },
    unknownTool: { as: 'error', code: -32601 },
    badArguments: { ...fixture.badArguments, refusal: { as: 'error', code: -32602 } },
    progress: {
      tool: fixture.progress.tool,
      args: fixture.progress.args,
    },
    log: {
      call: { tool: 'log' },
      entries: [
        { level: 'debug', data: { message: 'fine grain' } },
        { level: 'info', data: { message: 'steps', context: { step: 1, of: ['two'] } } },
        { level: 'warning', data: { message: 'hot' } },
        { level: 'error', data: { message: 'boils over' } },
      ],
      filters: false,
    },
    resources: { ...fixture.resources, missing: { uri: 'fixture://nothing-here', codes: [-32601] } },
    prompts: {
      ...fixture.prompts,
      names: ['plain', 'greet'],
      unknown: [-32601],
      missingArgument: { name: 'greet', codes: [-32600] },
    },
    completions: fixture.completions.filter((one) => !('context' in one)),
    folders: { ...fixture.folders, follows: true },
  },
)
