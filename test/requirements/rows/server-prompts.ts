import type { Requirement } from '../requirement.ts'

export const serverPrompts: readonly Requirement[] = [
  {
    places: {
      '2411-075': 'server/prompts#capabilities',
      '2503-141': 'server/prompts#capabilities',
      '2506-175': 'server/prompts#capabilities',
      '2511-346': 'server/prompts#capabilities',
      '2607-377': 'server/prompts#capabilities',
    },
    level: 'MUST',
    of: 'server',
    says: 'A server with prompts says so.',
    proof: [
      'packages/sdk/test/conversation/conversation.test.ts > declares every capability that is used',
      'packages/sdk/test/server/definitions.test.ts > empty lists count',
    ],
    runs: { everywhere: ['a server declares what it has, and nothing else'] },
  },
  {
    places: {
      '2411-076': 'server/prompts#list-changed-notification',
      '2503-142': 'server/prompts#list-changed-notification',
      '2506-176': 'server/prompts#list-changed-notification',
      '2511-347': 'server/prompts#list-changed-notification',
    },
    level: 'SHOULD',
    of: 'server',
    says: 'A change of the prompts is told.',
    proof: [
      'packages/sdk/test/serve/duplex-changes.test.ts > are told after initialized: lists always, resources while subscribed',
      'packages/sdk/test/serve/http-legacy-streams.test.ts > tells changes, also those from before it was opened',
      'packages/sdk/test/server/lists.test.ts > watchers hear of what changed, and of nothing else',
    ],
    runs: { everywhere: ['word of changed lists'] },
  },
  {
    places: { '2607-379': 'server/prompts#list-changed-notification' },
    level: 'SHOULD',
    of: 'server',
    says: 'A change of the prompts is told to who listens for it.',
    proof: [
      'packages/sdk/test/server/listen.test.ts > first says what it will tell, leaving out what the server does not offer',
      'packages/sdk/test/server/lists.test.ts > watchers hear of what changed, and of nothing else',
      'packages/sdk/test/serve/duplex-changes.test.ts > tell changes until the client cancels, and then say nothing more',
    ],
    runs: { everywhere: ['word of changed lists'] },
  },
  {
    places: { '2607-378': 'server/prompts#capabilities' },
    level: 'MUST',
    of: 'server',
    says: 'The list of prompts is the same for every connection, whatever came before.',
    proof: [
      'packages/sdk/test/client/apart.test.ts > gives every one the same lists in the same order, whatever was asked before',
      'packages/sdk/test/auth/scopes.test.ts > %s shows what its caller may use',
    ],
    runs: {
      everywhere: ['lists are the same for every connection and in the same order, whatever came before'],
    },
  },
  {
    places: {
      '2411-077': 'server/prompts#image-content',
      '2503-143': 'server/prompts#image-content',
      '2506-177': 'server/prompts#image-content',
      '2511-348': 'server/prompts#image-content',
      '2607-380': 'server/prompts#image-content',
    },
    level: 'MUST',
    of: 'author',
    says: 'Images travel in base64, with the type they are of.',
    proof: ['packages/sdk/test/server/content.test.ts > that is %s never leaves the server'],
    runs: { everywhere: ['images, sounds and resources have their type, and bytes in base64'] },
  },
  {
    places: {
      '2503-144': 'server/prompts#audio-content',
      '2506-178': 'server/prompts#audio-content',
      '2511-349': 'server/prompts#audio-content',
      '2607-381': 'server/prompts#audio-content',
    },
    level: 'MUST',
    of: 'author',
    says: 'Sounds travel in base64, with the type they are of.',
    proof: ['packages/sdk/test/server/content.test.ts > that is %s never leaves the server'],
    runs: { everywhere: ['images, sounds and resources have their type, and bytes in base64'] },
  },
  {
    places: {
      '2411-078': 'server/prompts#embedded-resources',
      '2503-145': 'server/prompts#embedded-resources',
      '2506-179': 'server/prompts#embedded-resources',
      '2511-350': 'server/prompts#embedded-resources',
      '2607-382': 'server/prompts#embedded-resources',
    },
    level: 'MUST',
    of: 'author',
    says: 'Embedded resources have a URI, a type, and text or bytes in base64.',
    proof: [
      'packages/sdk/test/server/content.test.ts > that is %s never leaves the server',
      'packages/sdk/test/server/content.test.ts > that is whole is sent as it is',
    ],
    runs: { everywhere: ['images, sounds and resources have their type, and bytes in base64'] },
  },
  {
    places: {
      '2411-079': 'server/prompts#error-handling',
      '2503-146': 'server/prompts#error-handling',
      '2506-180': 'server/prompts#error-handling',
      '2511-351': 'server/prompts#error-handling',
      '2607-383': 'server/prompts#error-handling',
    },
    level: 'SHOULD',
    of: 'server',
    says: 'Unknown prompts and missing arguments are -32602, other failures -32603.',
    proof: [
      'packages/sdk/test/server/prompts.test.ts > an unknown prompt',
      'packages/sdk/test/server/prompts.test.ts > a missing argument',
      'packages/sdk/test/server/prompts.test.ts > failures keep what their author wants known, and nothing else',
      'packages/sdk/test/serve/duplex-faults.test.ts > inside the server is reported and answered without a word about it',
    ],
    runs: {
      everywhere: ['arguments are checked before a handler runs, and a failure says nothing of its reason'],
    },
  },
  {
    places: {
      '2411-080': 'server/prompts#implementation-considerations',
      '2503-147': 'server/prompts#implementation-considerations',
      '2506-181': 'server/prompts#implementation-considerations',
      '2511-352': 'server/prompts#implementation-considerations',
      '2607-384': 'server/prompts#implementation-considerations',
    },
    level: 'SHOULD',
    of: 'server',
    says: 'Arguments are checked before a prompt runs.',
    proof: [
      'packages/sdk/test/server/prompts.test.ts > an argument out of range',
      'packages/sdk/test/server/prompts.test.ts > arguments nobody wants',
    ],
    runs: {
      everywhere: ['arguments are checked before a handler runs, and a failure says nothing of its reason'],
    },
  },
  {
    places: {
      '2411-081': 'server/prompts#implementation-considerations',
      '2503-148': 'server/prompts#implementation-considerations',
      '2506-182': 'server/prompts#implementation-considerations',
      '2511-353': 'server/prompts#implementation-considerations',
      '2607-385': 'server/prompts#implementation-considerations',
    },
    level: 'SHOULD',
    of: 'client',
    says: 'Prompts are listed page by page to the last.',
    proof: [
      'packages/sdk/test/client/apart.test.ts > of %s may have any number of entries, and each its own',
    ],
    runs: {
      everywhere: ['a client follows every cursor as it came, to pages of any size, until there is none'],
    },
  },
  {
    places: {
      '2411-082': 'server/prompts#implementation-considerations',
      '2503-149': 'server/prompts#implementation-considerations',
      '2506-183': 'server/prompts#implementation-considerations',
      '2511-354': 'server/prompts#implementation-considerations',
      '2607-386': 'server/prompts#implementation-considerations',
    },
    level: 'SHOULD',
    of: 'both',
    says: 'Prompts are asked for only where they were declared, and only then served.',
    proof: [
      'packages/sdk/test/client/lifecycle.test.ts > uses no capability that the server did not declare',
      'packages/sdk/test/server/lists.test.ts > %s is not found on a server that does not offer it',
    ],
    runs: {
      everywhere: [
        'a client asks for nothing that its server did not declare',
        'what a server does not declare is not found there',
      ],
    },
  },
  {
    places: {
      '2411-083': 'server/prompts#security',
      '2503-150': 'server/prompts#security',
      '2506-184': 'server/prompts#security',
      '2511-355': 'server/prompts#security',
      '2607-387': 'server/prompts#security',
    },
    level: 'MUST',
    of: 'both',
    says: 'What goes into a prompt and what comes out of it is checked.',
    proof: [
      'packages/sdk/test/server/prompts.test.ts > an argument that is no string',
      'packages/sdk/test/server/prompts.test.ts > an argument out of range',
      'packages/sdk/test/server/content.test.ts > that is %s never leaves the server',
    ],
    runs: {
      everywhere: [
        'arguments are checked before a handler runs, and a failure says nothing of its reason',
        'images, sounds and resources have their type, and bytes in base64',
      ],
    },
  },
]
