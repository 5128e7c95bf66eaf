import type { Requirement } from '../requirement.ts'

export const baseMessages: readonly Requirement[] = [
  {
    places: {
      '2411-001': 'index',
      '2503-001': 'index',
      '2506-001': 'index',
      '2511-001': 'index',
      '2607-002': 'index',
    },
    level: 'MUST NOT',
    of: 'reader',
    says: 'How the words of obligation are to be read.',
    none: 'Says what words mean.',
  },
  {
    places: {
      '2411-002': 'index#implementation-guidelines',
      '2503-002': 'index#implementation-guidelines',
      '2506-002': 'index#implementation-guidelines',
      '2511-002': 'index#implementation-guidelines',
      '2607-003': 'index#implementation-guidelines',
    },
    level: 'SHOULD',
    of: 'host',
    says: 'Applications ask for consent, control access, respect privacy and say what the risks are.',
    proof: [
      'packages/host/test/broker/broker.test.ts > asks the person with everything there is to know',
      'packages/host/test/broker/broker.test.ts > is denied, never allowed, where nobody can be asked',
      'packages/host/test/sampling/sampling.test.ts > shows the person the request and the result',
    ],
    runs: { only: 'application' },
  },
  {
    places: {
      '2411-003': 'basic/index',
      '2411-018': 'basic/messages',
      '2503-035': 'basic/index#messages',
      '2506-052': 'basic/index#messages',
      '2511-089': 'basic/index#messages',
      '2607-005': 'basic/index#messages',
    },
    level: 'MUST',
    of: 'both',
    says: 'Everything sent is a JSON-RPC 2.0 message.',
    proof: [
      'packages/sdk/test/conversation/conversation.test.ts > keeps to the official schema, whoever says it',
      'packages/sdk/test/conversation/conversation.test.ts > is a request, a response or a notice of JSON-RPC 2.0',
      'packages/sdk/test/jsonrpc/framing.test.ts > finds %j invalid and keeps a readable id',
    ],
    runs: { everywhere: ['every message is a request, a response or a notice of JSON-RPC 2.0'] },
  },
  {
    places: {
      '2411-004': 'basic/index#protocol-layers',
      '2503-034': 'basic/index',
      '2506-051': 'basic/index',
      '2511-088': 'basic/index',
      '2607-004': 'basic/index',
    },
    level: 'MUST',
    of: 'both',
    says: 'The base protocol, its way to agree on a version and its message patterns are there in every implementation.',
    proof: [
      'packages/sdk/test/conversation/conversation.test.ts > keeps to the official schema, whoever says it',
      'packages/sdk/test/serve/duplex.test.ts > agrees on %s',
      'packages/sdk/test/client/client.test.ts > learns who the server is',
    ],
    runs: {
      everywhere: [
        'every message is a request, a response or a notice of JSON-RPC 2.0',
        'every request that is not given up is answered once, by its id',
        'a client of both eras asks server/discover first, and begins a session where that is unknown',
      ],
    },
  },
  {
    places: {
      '2411-019': 'basic/messages#requests',
      '2503-036': 'basic/index#requests',
      '2506-053': 'basic/index#requests',
      '2511-090': 'basic/index#requests',
      '2607-006': 'basic/index#requests',
    },
    level: 'MUST',
    of: 'both',
    says: 'A request is identified by a text or a whole number.',
    proof: [
      'packages/sdk/test/conversation/conversation.test.ts > has a string or an integer as the id of a request',
      'packages/sdk/test/jsonrpc/framing.test.ts > finds %j invalid and keeps a readable id',
    ],
    runs: { everywhere: ['ids are texts or whole numbers, and no sender uses one twice'] },
  },
  {
    places: {
      '2411-020': 'basic/messages#requests',
      '2503-037': 'basic/index#requests',
      '2506-054': 'basic/index#requests',
      '2511-091': 'basic/index#requests',
      '2607-007': 'basic/index#requests',
    },
    level: 'MUST NOT',
    of: 'both',
    says: 'The id of a request is never null.',
    proof: [
      'packages/sdk/test/conversation/conversation.test.ts > has a string or an integer as the id of a request',
      'packages/sdk/test/jsonrpc/framing.test.ts > finds %j invalid and keeps a readable id',
    ],
    runs: { everywhere: ['ids are texts or whole numbers, and no sender uses one twice'] },
  },
  {
    places: {
      '2411-021': 'basic/messages#requests',
      '2503-038': 'basic/index#requests',
      '2506-055': 'basic/index#requests',
      '2511-092': 'basic/index#requests',
    },
    level: 'MUST NOT',
    of: 'both',
    says: 'Nobody uses the id of a request again within a session.',
    proof: ['packages/sdk/test/conversation/conversation.test.ts > never one used before'],
    runs: { everywhere: ['ids are texts or whole numbers, and no sender uses one twice'] },
  },
  {
    places: { '2607-008': 'basic/index#requests' },
    level: 'MUST NOT',
    of: 'both',
    says: 'No two requests in flight from one sender have the same id.',
    proof: [
      'packages/sdk/test/conversation/conversation.test.ts > never one used before',
      'packages/sdk/test/serve/duplex.test.ts > in flight are refused a second time while the first goes on',
    ],
    runs: { everywhere: ['ids are texts or whole numbers, and no sender uses one twice'] },
  },
  {
    places: {
      '2411-022': 'basic/messages#responses',
      '2503-039': 'basic/index#responses',
      '2506-056': 'basic/index#responses',
      '2511-093': 'basic/index#result-responses',
      '2607-009': 'basic/index#result-responses',
    },
    level: 'MUST',
    of: 'both',
    says: 'A response names the request it answers.',
    proof: [
      'packages/sdk/test/conversation/conversation.test.ts > answers each request once, by its id',
      'packages/sdk/test/serve/duplex.test.ts > in flight are refused a second time while the first goes on',
      'packages/sdk/test/links/stdio.test.ts > with an id of another type are not taken for the answer',
    ],
    runs: { everywhere: ['every request that is not given up is answered once, by its id'] },
  },
  {
    places: { '2511-095': 'basic/index#error-responses', '2607-015': 'basic/index#error-responses' },
    level: 'MUST',
    of: 'both',
    says: 'An error names the request it answers, unless its id could not be read.',
    proof: [
      'packages/sdk/test/conversation/conversation.test.ts > answers each request once, by its id',
      'packages/sdk/test/serve/stdio.test.ts > answers what is not JSON, nests too deep or is too long without an id',
      'packages/sdk/test/jsonrpc/framing.test.ts > finds %j invalid and keeps a readable id',
    ],
    runs: {
      everywhere: ['every error names its request and has a code that is a whole number, and a message'],
    },
  },
  {
    places: {
      '2411-023': 'basic/messages#responses',
      '2503-040': 'basic/index#responses',
      '2506-057': 'basic/index#responses',
    },
    level: 'MUST NOT',
    of: 'both',
    says: 'A response has a result or an error, never both.',
    proof: [
      'packages/sdk/test/conversation/conversation.test.ts > answers each request once, by its id, with a result or an error',
      'packages/sdk/test/jsonrpc/framing.test.ts > finds %j invalid and keeps a readable id',
    ],
    runs: { everywhere: ['every message is a request, a response or a notice of JSON-RPC 2.0'] },
  },
  {
    places: { '2511-094': 'basic/index#result-responses', '2607-010': 'basic/index#result-responses' },
    level: 'MUST',
    of: 'both',
    says: 'A successful response has a result.',
    proof: [
      'packages/sdk/test/conversation/conversation.test.ts > is a request, a response or a notice of JSON-RPC 2.0',
      'packages/sdk/test/conversation/conversation.test.ts > keeps to the official schema, whoever says it',
    ],
    runs: { everywhere: ['every message is a request, a response or a notice of JSON-RPC 2.0'] },
  },
  {
    places: {
      '2503-041': 'basic/index#responses',
      '2506-058': 'basic/index#responses',
      '2511-096': 'basic/index#error-responses',
      '2607-016': 'basic/index#error-responses',
    },
    level: 'MUST',
    of: 'both',
    says: 'An error says at least its code and a message.',
    proof: [
      'packages/sdk/test/conversation/conversation.test.ts > has an integer code and a message in every error',
      'packages/sdk/test/jsonrpc/framing.test.ts > finds %j invalid and keeps a readable id',
    ],
    runs: {
      everywhere: ['every error names its request and has a code that is a whole number, and a message'],
    },
  },
  {
    places: {
      '2411-024': 'basic/messages#responses',
      '2503-042': 'basic/index#responses',
      '2506-059': 'basic/index#responses',
      '2511-097': 'basic/index#error-responses',
      '2607-017': 'basic/index#error-responses',
    },
    level: 'MUST',
    of: 'both',
    says: 'Codes of errors are whole numbers.',
    proof: [
      'packages/sdk/test/conversation/conversation.test.ts > has an integer code and a message in every error',
      'packages/sdk/test/jsonrpc/error.test.ts > an error cannot have the code %s',
      'packages/sdk/test/jsonrpc/framing.test.ts > finds %j invalid and keeps a readable id',
    ],
    runs: {
      everywhere: ['every error names its request and has a code that is a whole number, and a message'],
    },
  },
  {
    places: {
      '2411-025': 'basic/messages#notifications',
      '2503-044': 'basic/index#notifications',
      '2506-061': 'basic/index#notifications',
      '2511-099': 'basic/index#notifications',
      '2607-024': 'basic/index#notifications',
    },
    level: 'MUST NOT',
    of: 'both',
    says: 'A notice has no id.',
    proof: ['packages/sdk/test/conversation/conversation.test.ts > has no id in a notice'],
    runs: { everywhere: ['no notice has an id, and none is answered'] },
  },
  {
    places: {
      '2503-043': 'basic/index#notifications',
      '2506-060': 'basic/index#notifications',
      '2511-098': 'basic/index#notifications',
      '2607-023': 'basic/index#notifications',
    },
    level: 'MUST NOT',
    of: 'both',
    says: 'Nobody answers a notice.',
    proof: [
      'packages/sdk/test/serve/duplex-faults.test.ts > never answers a response, a notice or an answer nobody waits for',
      'packages/sdk/test/client/lifecycle.test.ts > of a server are never answered, whatever they say',
      'packages/sdk/test/serve/http-legacy.test.ts > that are no requests are taken with 202 and no body',
      'packages/sdk/test/serve/http-modern.test.ts > take notices with 202',
    ],
    runs: { everywhere: ['no notice has an id, and none is answered'] },
  },
  {
    places: { '2503-045': 'basic/index#batching' },
    level: 'MUST',
    of: 'both',
    says: 'On 2025-03-26 an array of messages is taken, whoever sends it.',
    proof: [
      'packages/sdk/test/serve/duplex-faults.test.ts > are served on 2025-03-26 and answered as one array',
      'packages/sdk/test/serve/http-legacy-limits.test.ts > are answered as one array on 2025-03-26',
      'packages/sdk/test/serve/stdio.test.ts > answers a batch with one line',
      'packages/sdk/test/client/lifecycle.test.ts > takes a batch of answers on 2025-03-26',
    ],
    runs: { everywhere: ['an array of messages is taken, whoever sends it'] },
  },
  {
    places: {
      '2503-046': 'basic/index#auth',
      '2506-062': 'basic/index#auth',
      '2511-100': 'basic/index#auth',
      '2607-030': 'basic/index#auth',
    },
    level: 'SHOULD',
    of: 'both',
    says: 'Over HTTP the authorization framework is used; over stdio credentials come from the environment.',
    proof: [
      'packages/sdk/test/links/stdio.test.ts > holds no secret of the parent, only what programs need and what was configured',
      'packages/sdk/test/auth/bearer.test.ts > without a token, the answer says where to get one and with which scopes',
      'packages/sdk/test/links/http.test.ts > carries the headers the caller configured',
    ],
    runs: { only: 'http' },
  },
  {
    places: { '2607-011': 'basic/index#result-responses' },
    level: 'MUST',
    of: 'server',
    says: 'Every result of 2026-07-28 says its type.',
    proof: [
      'packages/sdk/test/conversation/conversation.test.ts > says in every result its type and which server it comes from',
      'packages/sdk/test/protocol/revisions.test.ts > carries result type, server and freshness from 2026-07-28 on',
    ],
    runs: { everywhere: ['every result says its type and which server it comes from'] },
  },
  {
    places: { '2607-012': 'basic/index#resulttype' },
    level: 'MUST',
    of: 'both',
    says: 'The types of results that are understood are those of the core and of the extensions both sides declared.',
    proof: [
      'packages/sdk/test/extensions/negotiation.test.ts > is declared by its identifier with its settings, and spoken where both sides declare it',
      'packages/sdk/test/extensions/negotiation.test.ts > a type of result nobody declared is refused',
    ],
    runs: {
      everywhere: [
        'a result that says no type is complete, and one of a type nobody declared is refused',
        'an extension that only one side declares is left away, or refused with an error that says so',
      ],
    },
  },
  {
    places: { '2607-013': 'basic/index#resulttype' },
    level: 'MUST',
    of: 'client',
    says: 'A result of a type the client does not know is refused.',
    proof: [
      'packages/sdk/test/client/rounds.test.ts > of an unknown type',
      'packages/sdk/test/extensions/negotiation.test.ts > a type of result nobody declared is refused',
    ],
    runs: {
      everywhere: ['a result that says no type is complete, and one of a type nobody declared is refused'],
    },
  },
  {
    places: { '2607-014': 'basic/index#resulttype' },
    level: 'MUST',
    of: 'client',
    says: 'A result that says no type is a complete one.',
    proof: ['packages/sdk/test/client/rounds.test.ts > without a type is complete'],
    runs: {
      everywhere: ['a result that says no type is complete, and one of a type nobody declared is refused'],
    },
  },
  {
    places: { '2607-018': 'basic/index#error-codes' },
    level: 'MUST NOT',
    of: 'both',
    says: 'No new codes between -32000 and -32019, and no guessing what such a code means.',
    proof: [
      'packages/sdk/test/jsonrpc/error.test.ts > every code of our own is one the specification defines, or lies outside what is reserved',
      'packages/sdk/test/client/hello.test.ts > 400 and -32000 without an id',
    ],
    runs: {
      everywhere: [
        'a code of an application is handed on, and no meaning is read into it',
        'of the reserved codes only those are sent that the specification defines',
      ],
    },
  },
  {
    places: { '2607-019': 'basic/index#error-codes' },
    level: 'MUST NOT',
    of: 'both',
    says: 'Between -32020 and -32099 only codes the specification defines are sent, with their meaning.',
    proof: [
      'packages/sdk/test/serve/envelope.test.ts > is answered with %s only as the specification has it',
      'packages/sdk/test/serve/envelope.test.ts > names what is missing',
      'packages/sdk/test/serve/http-modern.test.ts > with %s',
    ],
    runs: { everywhere: ['of the reserved codes only those are sent that the specification defines'] },
  },
  {
    places: { '2607-020': 'basic/index#error-codes' },
    level: 'MUST NOT',
    of: 'both',
    says: 'On 2026-07-28 the codes -32002 and -32042 of earlier revisions are not sent.',
    proof: [
      'packages/sdk/test/serve/envelope.test.ts > is answered with %s only as the specification has it',
      'packages/sdk/test/protocol/revisions.test.ts > uses its own code for a missing resource',
    ],
    runs: { everywhere: ['of the reserved codes only those are sent that the specification defines'] },
  },
  {
    places: { '2607-021': 'basic/index#error-codes' },
    level: 'SHOULD',
    of: 'client',
    says: 'A client still takes -32002 for a resource that is not there.',
    otherwise:
      'Codes reach the caller as they came: -32602 alone does not say that a resource is missing, so the two are not made one.',
  },
  {
    places: { '2607-022': 'basic/index#error-codes' },
    level: 'SHOULD',
    of: 'both',
    says: 'Codes of our own lie outside what JSON-RPC reserves.',
    proof: [
      'packages/sdk/test/jsonrpc/error.test.ts > every code of our own is one the specification defines, or lies outside what is reserved',
    ],
    runs: { everywhere: ['of the reserved codes only those are sent that the specification defines'] },
  },
  {
    places: { '2607-001': 'deprecated' },
    level: 'SHOULD NOT',
    of: 'both',
    says: 'Features that are deprecated are not taken up anew.',
    otherwise:
      'Roots, sampling, logging and HTTP+SSE stay, as servers and clients of earlier revisions need them and the revision still has them.',
  },
]
