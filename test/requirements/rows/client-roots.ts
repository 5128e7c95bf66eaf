import type { Requirement } from '../requirement.ts'

/** Roots. */
export const clientRoots: readonly Requirement[] = [
  {
    places: {
      '2411-058': 'client/roots#capabilities',
      '2503-124': 'client/roots#capabilities',
      '2506-158': 'client/roots#capabilities',
      '2511-321': 'client/roots#capabilities',
    },
    level: 'MUST',
    of: 'client',
    says: 'A client with roots declares the capability when a session begins.',
    proof: [
      'packages/sdk/test/client/declarations.test.ts > declares %s in initialize where it can answer, and nothing else',
    ],
    runs: {
      everywhere: [
        'a client declares what it can answer, when a session begins or on every request, and nothing else',
      ],
    },
  },
  {
    places: { '2607-346': 'client/roots#capabilities' },
    level: 'MUST',
    of: 'client',
    says: 'A client with roots declares the capability on each request.',
    proof: ['packages/sdk/test/client/declarations.test.ts > declares %s on each of its requests'],
    runs: {
      everywhere: [
        'a client declares what it can answer, when a session begins or on every request, and nothing else',
      ],
    },
  },
  {
    places: {
      '2411-059': 'client/roots#root-list-changes',
      '2503-125': 'client/roots#root-list-changes',
      '2506-159': 'client/roots#root-list-changes',
      '2511-322': 'client/roots#root-list-changes',
    },
    level: 'MUST',
    of: 'client',
    says: 'A server is told when roots change.',
    proof: [
      'packages/sdk/test/client/declarations.test.ts > tells the server when its roots changed',
      'packages/host/test/asking/roots.test.ts > is noticed, and a server that was told of it hears that its roots changed, once',
    ],
    runs: { everywhere: ['a server is told that roots changed'] },
  },
  {
    places: {
      '2411-060': 'client/roots#root',
      '2503-126': 'client/roots#root',
      '2506-160': 'client/roots#root',
      '2511-323': 'client/roots#root',
      '2607-347': 'client/roots#root',
    },
    level: 'MUST',
    of: 'both',
    says: 'A root is a `file://` URI.',
    proof: [
      'packages/sdk/test/client/declarations.test.ts > lists its roots as file URIs, and keeps back what is none',
      'packages/host/test/asking/roots.test.ts > is refused before anything starts: %s',
    ],
    runs: {
      everywhere: [
        'a root is a URI of a file, and a client keeps back what is none',
        'a server takes no answer that does not fit its question',
      ],
    },
  },
  {
    places: {
      '2411-061': 'client/roots#error-handling',
      '2503-127': 'client/roots#error-handling',
      '2506-161': 'client/roots#error-handling',
      '2511-324': 'client/roots#error-handling',
    },
    level: 'SHOULD',
    of: 'client',
    says: 'A client without roots answers -32601, one that fails -32603.',
    proof: [
      'packages/sdk/test/client/declarations.test.ts > answers what it did not declare with -32601',
      'packages/sdk/test/client/declarations.test.ts > lists its roots as file URIs, and keeps back what is none',
    ],
    runs: {
      everywhere: [
        'a question that a client did not declare is refused, and reaches nobody',
        'a client that fails to answer says so, and nothing of why',
      ],
    },
  },
  {
    places: {
      '2411-062': 'client/roots#security-considerations',
      '2503-128': 'client/roots#security-considerations',
      '2506-162': 'client/roots#security-considerations',
      '2511-325': 'client/roots#security-considerations',
      '2607-348': 'client/roots#security-considerations',
    },
    level: 'MUST',
    of: 'client',
    says: 'Only permitted roots are told, their URIs are validated, and whether they can be read is watched.',
    proof: [
      'packages/host/test/asking/asking.test.ts > are told after one consent for the session',
      'packages/host/test/asking/asking.test.ts > are none after a no, which stays a no',
      'packages/host/test/asking/roots.test.ts > is refused before anything starts: %s',
      'packages/host/test/asking/roots.test.ts > are not told to a server, and the activity says which',
      'packages/host/test/asking/roots.test.ts > is noticed, and a server that was told of it hears that its roots changed, once',
    ],
    runs: { only: 'application' },
  },
  {
    places: {
      '2411-063': 'client/roots#security-considerations',
      '2503-129': 'client/roots#security-considerations',
      '2506-163': 'client/roots#security-considerations',
      '2511-326': 'client/roots#security-considerations',
      '2607-349': 'client/roots#security-considerations',
    },
    level: 'SHOULD',
    of: 'author',
    says: 'A server stays within roots, checks paths against them and copes with those that went away.',
    proof: [
      'servers/travel/test/files.test.ts > is made of names that stay inside, or is refused',
      'servers/travel/test/files.test.ts > never writes outside the root',
    ],
    runs: { only: 'application' },
  },
  {
    places: {
      '2411-064': 'client/roots#implementation-guidelines',
      '2503-130': 'client/roots#implementation-guidelines',
      '2506-164': 'client/roots#implementation-guidelines',
      '2511-327': 'client/roots#implementation-guidelines',
      '2607-350': 'client/roots#implementation-guidelines',
    },
    level: 'SHOULD',
    of: 'host',
    says: 'The person agrees before roots are told; roots can be managed, and are watched.',
    proof: [
      'packages/host/test/asking/asking.test.ts > are told after one consent for the session',
      'packages/host/test/asking/roots.test.ts > are not told to a server, and the activity says which',
      'packages/host/test/asking/roots.test.ts > is noticed, and a server that was told of it hears that its roots changed, once',
    ],
    runs: { only: 'application' },
  },
  {
    places: {
      '2411-065': 'client/roots#implementation-guidelines',
      '2503-131': 'client/roots#implementation-guidelines',
      '2506-165': 'client/roots#implementation-guidelines',
      '2511-328': 'client/roots#implementation-guidelines',
      '2607-351': 'client/roots#implementation-guidelines',
    },
    level: 'SHOULD',
    of: 'server',
    says: 'A server looks for the capability before it asks, stays within roots and takes changes.',
    proof: [
      'packages/sdk/test/serve/questions.test.ts > is not put to a client that did not declare it: %s with %j',
      'packages/sdk/test/serve/http-revisions.test.ts > takes notices and answers with 202 and no body',
      'servers/travel/test/files.test.ts > never writes outside the root',
    ],
    runs: {
      everywhere: [
        'a client is asked nothing that it did not declare',
        'a server is told that roots changed',
      ],
    },
  },
  {
    places: { '2607-345': 'client/roots' },
    level: 'SHOULD NOT',
    of: 'both',
    says: 'New implementations do not take up roots.',
    otherwise:
      'Every published revision is served in full, and roots are part of each. A client declares them only where it is given some.',
  },
]
