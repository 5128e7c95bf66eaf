import { only, type Requirement } from '../requirement.ts'

const thirdParty =
  'It is about proxies that log people in at third parties. Ours runs no authorization endpoint and goes upstream with credentials of its own.'

/** Security best practices that are about servers and proxies. */
export const securityServers: readonly Requirement[] = only('http', [
  {
    places: {
      'sbp-2025-11-25-001': 'tutorials/security/security_best_practices#mitigation',
      'sbp-2026-07-28-001': 'tutorials/security/security_best_practices#mitigation',
    },
    level: 'MUST',
    of: 'author',
    says: 'Proxies to third parties ask for consent per client, with the protection that follows.',
    none: thirdParty,
  },
  {
    places: {
      'sbp-2025-11-25-002': 'tutorials/security/security_best_practices#required-protections',
      'sbp-2026-07-28-002': 'tutorials/security/security_best_practices#required-protections',
    },
    level: 'MUST',
    of: 'author',
    says: 'They remember who approved which client, and look it up before going on.',
    none: thirdParty,
  },
  {
    places: {
      'sbp-2025-11-25-003': 'tutorials/security/security_best_practices#required-protections',
      'sbp-2026-07-28-003': 'tutorials/security/security_best_practices#required-protections',
    },
    level: 'MUST',
    of: 'author',
    says: 'Their consent page names the client, the scopes and the redirect URI, and cannot be forged or framed.',
    none: thirdParty,
  },
  {
    places: {
      'sbp-2025-11-25-004': 'tutorials/security/security_best_practices#required-protections',
      'sbp-2026-07-28-004': 'tutorials/security/security_best_practices#required-protections',
    },
    level: 'MUST',
    of: 'author',
    says: 'Cookies of consent are bound to host, client and transport, and cannot be forged.',
    none: thirdParty,
  },
  {
    places: {
      'sbp-2025-11-25-005': 'tutorials/security/security_best_practices#required-protections',
      'sbp-2026-07-28-005': 'tutorials/security/security_best_practices#required-protections',
    },
    level: 'MUST',
    of: 'author',
    says: 'Their redirect URIs are compared exactly.',
    none: thirdParty,
  },
  {
    places: {
      'sbp-2025-11-25-006': 'tutorials/security/security_best_practices#required-protections',
      'sbp-2025-11-25-007': 'tutorials/security/security_best_practices#required-protections',
      'sbp-2026-07-28-006': 'tutorials/security/security_best_practices#required-protections',
      'sbp-2026-07-28-007': 'tutorials/security/security_best_practices#required-protections',
    },
    level: 'MUST',
    of: 'author',
    says: 'Their state is random, kept only after consent, good once and for a short time.',
    none: thirdParty,
  },
  {
    places: {
      'sbp-2025-11-25-008': 'tutorials/security/security_best_practices#mitigation-1',
      'sbp-2026-07-28-008': 'tutorials/security/security_best_practices#mitigation-1',
    },
    level: 'MUST NOT',
    of: 'server',
    says: 'Tokens that were not issued for this server are refused.',
    proof: [
      'packages/sdk/test/auth/bearer.test.ts > a token with %s is refused, and nothing runs',
      'packages/sdk/test/auth/authorization-server.test.ts > refreshed tokens go on working, and those of other resources never do',
      'packages/sdk/test/auth/bearer.test.ts > a token may be for somebody else besides only where that is named, and never for them alone',
    ],
  },
  {
    places: { 'sbp-2025-11-25-014': 'tutorials/security/security_best_practices#mitigation-3' },
    level: 'MUST NOT',
    of: 'server',
    says: 'Every request is authenticated by itself; the id of a session proves nothing.',
    proof: [
      'packages/sdk/test/auth/handles.test.ts > the id of a session is worth nothing',
      'packages/sdk/test/auth/principals.test.ts > cannot use, read, resume or end a session',
      'packages/sdk/test/auth/principals.test.ts > a token that expires in a session is refused, and the session goes on with a new one',
      'packages/sdk/test/serve/http-guard.test.ts > asks who it is before it reads the body, and refuses when it cannot tell',
    ],
  },
  {
    places: { 'sbp-2026-07-28-014': 'tutorials/security/security_best_practices#mitigation-3' },
    level: 'MUST NOT',
    of: 'server',
    says: 'Every request is authenticated by itself; having a state or the id of a task proves nothing.',
    proof: [
      'packages/sdk/test/auth/handles.test.ts > the state of a request is worth nothing',
      'packages/sdk/test/auth/principals.test.ts > cannot answer a question that was put to her',
      'packages/sdk/test/extensions/tasks/access.test.ts > and does not exist for %s',
    ],
    runs: { only: 'callers' },
  },
  {
    places: { 'sbp-2025-11-25-015': 'tutorials/security/security_best_practices#mitigation-3' },
    level: 'MUST',
    of: 'server',
    says: 'Ids of sessions are random and cannot be guessed.',
    proof: [
      'packages/sdk/test/serve/http-legacy.test.ts > is given with the answer to initialize: long, random, visible ASCII',
      'packages/sdk/test/transports/sse-server.test.ts > first names a place on the same origin, with an id nobody can guess and no session header',
    ],
  },
  {
    places: { 'sbp-2025-11-25-016': 'tutorials/security/security_best_practices#mitigation-3' },
    level: 'SHOULD',
    of: 'server',
    says: 'A session belongs to who began it.',
    proof: [
      'packages/sdk/test/serve/http-legacy.test.ts > belongs to who began it: for anybody else it does not exist',
      'packages/sdk/test/auth/principals.test.ts > cannot use, read, resume or end a session',
      'packages/sdk/test/transports/sse-server.test.ts > is for the caller who opened the stream alone, and asks again who that is',
    ],
    runs: { only: 'callers' },
  },
  {
    places: { 'sbp-2026-07-28-015': 'tutorials/security/security_best_practices#mitigation-3' },
    level: 'SHOULD',
    of: 'server',
    says: 'Handles are random or sealed, and end.',
    proof: [
      'packages/sdk/test/extensions/tasks/extension.test.ts > gives every task an id of its own that nobody can guess',
      'packages/sdk/test/core/sealed-state.test.ts > does not survive a change of any single character',
      'packages/sdk/test/core/sealed-state.test.ts > is good once: the same retry sent twice runs once',
      'packages/sdk/test/extensions/tasks/access.test.ts > is so much time: then the task is gone and its handler stopped',
    ],
    runs: {
      everywhere: [
        'state that was changed, or belongs to another request, is refused, and tells nothing',
        'state is good once',
        'a call becomes a task only where its request declares them, and is then answered with it at once',
      ],
    },
  },
  {
    places: { 'sbp-2026-07-28-016': 'tutorials/security/security_best_practices#mitigation-3' },
    level: 'SHOULD',
    of: 'server',
    says: 'A handle is bound to who it was made for, and is nothing to anybody else.',
    proof: [
      'packages/sdk/test/auth/principals.test.ts > cannot answer a question that was put to her',
      'packages/sdk/test/extensions/tasks/access.test.ts > and does not exist for %s',
      'packages/sdk/test/extensions/tasks/access.test.ts > and is not for %s in a session either',
    ],
    runs: { only: 'callers' },
  },
  {
    places: {
      'sbp-2025-11-25-020': 'tutorials/security/security_best_practices#mitigation-4',
      'sbp-2026-07-28-020': 'tutorials/security/security_best_practices#mitigation-4',
    },
    level: 'SHOULD',
    of: 'server',
    says: 'A server on this machine is for who started it: stdio, a socket of its owner, or a token over HTTP.',
    proof: [
      'packages/sdk/test/transports/socket.test.ts > is for its owner alone, whatever the process makes its files for',
      'packages/sdk/test/transports/socket.test.ts > is nobody in particular on TCP, and has no scope',
      'packages/sdk/test/serve/http-guard.test.ts > listens on this machine only, says where, and says when the port is taken',
      'packages/sdk/test/auth/bearer.test.ts > without a token, the answer says where to get one and with which scopes',
    ],
    runs: { only: 'callers' },
  },
])
