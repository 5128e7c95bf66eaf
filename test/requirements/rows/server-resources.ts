import type { Requirement } from '../requirement.ts'

export const serverResources: readonly Requirement[] = [
  {
    places: {
      '2411-084': 'server/resources#capabilities',
      '2503-151': 'server/resources#capabilities',
      '2506-185': 'server/resources#capabilities',
      '2511-356': 'server/resources#capabilities',
      '2607-389': 'server/resources#capabilities',
    },
    level: 'MUST',
    of: 'server',
    says: 'A server with resources says so.',
    proof: [
      'packages/sdk/test/conversation/conversation.test.ts > declares every capability that is used',
      'packages/sdk/test/server/definitions.test.ts > empty lists count',
    ],
    runs: { everywhere: ['a server declares what it has, and nothing else'] },
  },
  {
    places: {
      '2411-085': 'server/resources#list-changed-notification',
      '2503-152': 'server/resources#list-changed-notification',
      '2506-186': 'server/resources#list-changed-notification',
      '2511-357': 'server/resources#list-changed-notification',
      '2607-391': 'server/resources#list-changed-notification',
    },
    level: 'SHOULD',
    of: 'server',
    says: 'A change of the list is told.',
    proof: [
      'packages/sdk/test/serve/envelope.test.ts > tells notices of lists that changed, once it said it is ready',
      'packages/sdk/test/serve/duplex-changes.test.ts > are told after initialized: lists always, resources while subscribed',
      'packages/sdk/test/server/lists.test.ts > watchers hear of what changed, and of nothing else',
    ],
    runs: { everywhere: ['word of changed lists'] },
  },
  {
    places: {
      '2411-086': 'server/resources#https',
      '2503-153': 'server/resources#https',
      '2506-187': 'server/resources#https',
      '2511-358': 'server/resources#https',
      '2607-392': 'server/resources#https',
    },
    level: 'SHOULD',
    of: 'author',
    says: 'https: is for what a client can fetch by itself.',
    none: 'Whoever defines a resource chooses its URI.',
  },
  {
    places: {
      '2411-087': 'server/resources#https',
      '2503-154': 'server/resources#https',
      '2506-188': 'server/resources#https',
      '2511-359': 'server/resources#https',
      '2607-393': 'server/resources#https',
    },
    level: 'SHOULD',
    of: 'author',
    says: 'Everything else has a scheme of its own.',
    none: 'Whoever defines a resource chooses its URI.',
  },
  {
    places: {
      '2506-189': 'server/resources#custom-uri-schemes',
      '2511-360': 'server/resources#custom-uri-schemes',
      '2607-394': 'server/resources#custom-uri-schemes',
    },
    level: 'MUST',
    of: 'author',
    says: 'Schemes of their own make proper URIs.',
    proof: [
      'packages/sdk/test/server/definitions.test.ts > a relative URI',
      'packages/sdk/test/server/definitions.test.ts > a broken template',
    ],
    runs: { only: 'definition' },
  },
  {
    places: {
      '2411-088': 'server/resources#error-handling',
      '2503-155': 'server/resources#error-handling',
      '2506-190': 'server/resources#error-handling',
      '2511-361': 'server/resources#error-handling',
    },
    level: 'SHOULD',
    of: 'server',
    says: 'Before 2026-07-28 a missing resource is -32002, other failures are -32603.',
    proof: [
      'packages/sdk/test/serve/envelope.test.ts > says that a resource is missing with the code of its time',
      'packages/sdk/test/server/resources.test.ts > each revision has its own code for what does not exist',
      'packages/sdk/test/server/resources.test.ts > errors keep what their author wants known',
    ],
    runs: {
      everywhere: [
        'a resource that does not exist is an error, and never an empty answer',
        'arguments are checked before a handler runs, and a failure says nothing of its reason',
      ],
    },
  },
  {
    places: { '2607-395': 'server/resources#error-handling' },
    level: 'MUST',
    of: 'server',
    says: 'On 2026-07-28 a missing resource is -32602.',
    proof: [
      'packages/sdk/test/serve/envelope.test.ts > for a resource that does not exist is an error, and one without contents is told apart',
      'packages/sdk/test/serve/envelope.test.ts > a resource that is not there, as it was called',
    ],
    runs: { everywhere: ['a resource that does not exist is an error, and never an empty answer'] },
  },
  {
    places: { '2607-396': 'server/resources#error-handling' },
    level: 'SHOULD',
    of: 'client',
    says: 'A client takes -32002 for a missing resource too.',
    otherwise:
      'Codes reach the caller as they came: -32602 alone does not say that a resource is missing, so the two are not made one.',
  },
  {
    places: { '2607-397': 'server/resources#error-handling' },
    level: 'MUST NOT',
    of: 'server',
    says: 'What does not exist is never answered with nothing.',
    proof: [
      'packages/sdk/test/server/resources.test.ts > %s does not exist, and is never an empty answer',
      'packages/sdk/test/serve/envelope.test.ts > for a resource that does not exist is an error, and one without contents is told apart',
    ],
    runs: { everywhere: ['a resource that does not exist is an error, and never an empty answer'] },
  },
  {
    places: {
      '2411-089': 'server/resources#security-considerations',
      '2503-156': 'server/resources#security-considerations',
      '2506-191': 'server/resources#security-considerations',
      '2511-362': 'server/resources#security-considerations',
      '2607-398': 'server/resources#security-considerations',
    },
    level: 'MUST',
    of: 'server',
    says: 'URIs are checked.',
    proof: [
      'packages/sdk/test/server/resources.test.ts > a long URI',
      'packages/sdk/test/server/resources.test.ts > no URI',
      'packages/sdk/test/serve/envelope.test.ts > for a resource that does not exist is an error, and one without contents is told apart',
      'packages/sdk/test/serve/duplex-changes.test.ts > cannot be subscribed to without a usable URI',
    ],
    runs: { everywhere: ['a resource that does not exist is an error, and never an empty answer'] },
  },
  {
    places: {
      '2411-090': 'server/resources#security-considerations',
      '2503-157': 'server/resources#security-considerations',
      '2506-192': 'server/resources#security-considerations',
      '2511-363': 'server/resources#security-considerations',
      '2607-399': 'server/resources#security-considerations',
    },
    level: 'SHOULD',
    of: 'server',
    says: 'Not everybody may read everything.',
    proof: [
      'packages/sdk/test/auth/scopes.test.ts > %s %j needs %s',
      'packages/sdk/test/auth/scopes.test.ts > a session cannot subscribe to what its caller may not read',
    ],
    runs: { only: 'callers' },
  },
  {
    places: {
      '2411-091': 'server/resources#security-considerations',
      '2503-158': 'server/resources#security-considerations',
      '2506-193': 'server/resources#security-considerations',
      '2511-364': 'server/resources#security-considerations',
      '2607-400': 'server/resources#security-considerations',
    },
    level: 'MUST',
    of: 'server',
    says: 'Bytes are encoded properly.',
    proof: [
      'packages/sdk/test/server/resources.test.ts > bytes survive as base64',
      'packages/sdk/test/server/content.test.ts > that is %s never leaves the server',
    ],
    runs: { everywhere: ['images, sounds and resources have their type, and bytes in base64'] },
  },
  {
    places: {
      '2411-092': 'server/resources#security-considerations',
      '2503-159': 'server/resources#security-considerations',
      '2506-194': 'server/resources#security-considerations',
      '2511-365': 'server/resources#security-considerations',
      '2607-401': 'server/resources#security-considerations',
    },
    level: 'SHOULD',
    of: 'server',
    says: 'Rights are looked at before anything is done.',
    proof: [
      'packages/sdk/test/auth/scopes.test.ts > %s %j needs %s',
      'packages/sdk/test/auth/scopes.test.ts > every message of a batch is looked at before any of them runs',
    ],
    runs: { only: 'callers' },
  },
  {
    places: { '2607-402': 'server/resources#security-considerations' },
    level: 'MUST',
    of: 'server',
    says: 'A path in a file: URI does not lead out of its folder.',
    proof: [
      'packages/sdk/test/server/files.test.ts > %s names no file',
      'servers/travel/test/files.test.ts > is made of names that stay inside, or is refused',
    ],
    runs: { everywhere: ['a path in a URI of a file does not lead out of its folder'] },
  },
  {
    places: { '2607-390': 'server/resources#capabilities' },
    level: 'MUST',
    of: 'server',
    says: 'The list of resources is the same for every connection, whatever came before.',
    proof: [
      'packages/sdk/test/client/apart.test.ts > gives every one the same lists in the same order, whatever was asked before',
      'packages/sdk/test/auth/scopes.test.ts > %s shows what its caller may use',
    ],
    runs: {
      everywhere: ['lists are the same for every connection and in the same order, whatever came before'],
    },
  },
]
