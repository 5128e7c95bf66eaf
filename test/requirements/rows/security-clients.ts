import { only, type Requirement } from '../requirement.ts'

/** Security best practices that are about clients. */
export const securityClients: readonly Requirement[] = only('http', [
  {
    places: {
      'sbp-2025-11-25-009': 'tutorials/security/security_best_practices#mitigation-2',
      'sbp-2026-07-28-009': 'tutorials/security/security_best_practices#mitigation-2',
    },
    level: 'MUST',
    of: 'client',
    says: 'A client on a server is not led to addresses inside by what others publish.',
    proof: [
      'packages/sdk/test/client-auth/reach.test.ts > a server on the Internet cannot make the client ask for',
      'packages/sdk/test/client-auth/reach.test.ts > a name that stands for %s address',
      'packages/sdk/test/client-auth/reach.test.ts > connects to the checked address whatever the name stands for by then',
    ],
  },
  {
    places: {
      'sbp-2025-11-25-010': 'tutorials/security/security_best_practices#mitigation-2',
      'sbp-2026-07-28-010': 'tutorials/security/security_best_practices#mitigation-2',
    },
    level: 'SHOULD',
    of: 'client',
    says: 'Everything about a login is https, but on this machine.',
    proof: [
      'packages/sdk/test/client-auth/reach.test.ts > a server on the Internet cannot make the client ask for',
      'packages/sdk/test/client-auth/reach.test.ts > goes for nothing where the server itself is reached over plain http',
    ],
  },
  {
    places: {
      'sbp-2025-11-25-011': 'tutorials/security/security_best_practices#mitigation-2',
      'sbp-2026-07-28-011': 'tutorials/security/security_best_practices#mitigation-2',
    },
    level: 'SHOULD',
    of: 'client',
    says: 'Private, local and reserved addresses are not reached, but from servers that are there themselves.',
    proof: [
      'packages/sdk/test/client-auth/reach.test.ts > a server on the Internet cannot make the client ask for',
      'packages/sdk/test/client-auth/reach.test.ts > a name that stands for %s address',
      'packages/sdk/test/client-auth/reach.test.ts > may have its authorization server in %s: %s is %s',
    ],
  },
  {
    places: {
      'sbp-2025-11-25-012': 'tutorials/security/security_best_practices#mitigation-2',
      'sbp-2026-07-28-012': 'tutorials/security/security_best_practices#mitigation-2',
    },
    level: 'SHOULD',
    of: 'client',
    says: 'Where a redirect leads is judged like every other URL.',
    proof: [
      'packages/sdk/test/client-auth/reach.test.ts > a server on the Internet cannot make the client ask for',
      'packages/sdk/test/client-auth/reach.test.ts > is followed over three redirects and no more',
      'packages/sdk/test/client-auth/reach.test.ts > do not follow a redirect of the token endpoint',
    ],
  },
  {
    places: {
      'sbp-2025-11-25-013': 'tutorials/security/security_best_practices#mitigation-2',
      'sbp-2026-07-28-013': 'tutorials/security/security_best_practices#mitigation-2',
    },
    level: 'SHOULD',
    of: 'author',
    says: 'Whoever runs clients on servers may send their requests through a proxy.',
    none: 'It binds whoever runs a client; what sends its requests can be replaced for that.',
  },
  {
    places: {
      'sbp-2025-11-25-017': 'tutorials/security/security_best_practices#mitigation-4',
      'sbp-2026-07-28-017': 'tutorials/security/security_best_practices#mitigation-4',
    },
    level: 'MUST',
    of: 'host',
    says: 'Configuring a local server with one click needs consent before anything runs.',
    none: 'There is no such feature: servers come from a config file or a command line.',
  },
  {
    places: {
      'sbp-2025-11-25-018': 'tutorials/security/security_best_practices#mitigation-4',
      'sbp-2026-07-28-018': 'tutorials/security/security_best_practices#mitigation-4',
    },
    level: 'MUST',
    of: 'host',
    says: 'That consent shows the whole command, says that it is dangerous, and can be refused.',
    none: 'There is no such feature: servers come from a config file or a command line.',
  },
  {
    places: {
      'sbp-2025-11-25-019': 'tutorials/security/security_best_practices#mitigation-4',
      'sbp-2026-07-28-019': 'tutorials/security/security_best_practices#mitigation-4',
    },
    level: 'SHOULD',
    of: 'host',
    says: 'Dangerous commands are pointed out, and servers run with few rights.',
    otherwise:
      'A command runs as it was shown, with PATH, HOME and the like and the proxies and certificates of the machine; a sandbox is there where one is wanted.',
  },
  {
    places: {
      'sbp-2025-11-25-021': 'tutorials/security/security_best_practices#mitigation-5',
      'sbp-2025-11-25-022': 'tutorials/security/security_best_practices#mitigation-5',
      'sbp-2025-11-25-023': 'tutorials/security/security_best_practices#mitigation-5',
      'sbp-2026-07-28-021': 'tutorials/security/security_best_practices#mitigation-5',
      'sbp-2026-07-28-022': 'tutorials/security/security_best_practices#mitigation-5',
      'sbp-2026-07-28-023': 'tutorials/security/security_best_practices#mitigation-5',
    },
    level: 'MUST',
    of: 'client',
    says: 'A person is sent to https pages alone, or http ones on this machine.',
    proof: [
      'packages/sdk/test/client-auth/metadata.test.ts > has nobody sent to %s',
      'packages/sdk/test/client-auth/loopback.test.ts > is not opened for %s',
      'packages/sdk/test/client-auth/reach.test.ts > a server on the Internet cannot make the client ask for',
    ],
  },
  {
    places: {
      'sbp-2025-11-25-024': 'tutorials/security/security_best_practices#mitigation-5',
      'sbp-2026-07-28-024': 'tutorials/security/security_best_practices#mitigation-5',
    },
    level: 'SHOULD',
    of: 'client',
    says: 'What may be opened is listed, not what may not.',
    proof: [
      'packages/sdk/test/client-auth/metadata.test.ts > has nobody sent to %s',
      'packages/sdk/test/client-auth/loopback.test.ts > is not opened for %s',
      'packages/sdk/test/client-auth/reach.test.ts > a server on the Internet cannot make the client ask for',
    ],
  },
  {
    places: {
      'sbp-2025-11-25-025': 'tutorials/security/security_best_practices#mitigation-5',
      'sbp-2025-11-25-026': 'tutorials/security/security_best_practices#mitigation-5',
      'sbp-2026-07-28-025': 'tutorials/security/security_best_practices#mitigation-5',
      'sbp-2026-07-28-026': 'tutorials/security/security_best_practices#mitigation-5',
    },
    level: 'MUST NOT',
    of: 'client',
    says: 'No shell takes part in opening a page.',
    proof: [
      'packages/sdk/test/client-auth/loopback.test.ts > is given the URL as one argument, whatever is in it',
    ],
    runs: { only: 'application' },
  },
  {
    places: {
      'sbp-2025-11-25-027': 'tutorials/security/security_best_practices#mitigation-5',
      'sbp-2026-07-28-027': 'tutorials/security/security_best_practices#mitigation-5',
    },
    level: 'SHOULD',
    of: 'client',
    says: 'A page is opened by what the system has for that.',
    proof: [
      'packages/sdk/test/client-auth/loopback.test.ts > is given the URL as one argument, whatever is in it',
      'packages/sdk/test/client-auth/loopback.test.ts > that cannot be started is an error',
    ],
    runs: { only: 'application' },
  },
  {
    places: {
      'sbp-2025-11-25-028': 'tutorials/security/security_best_practices#mitigation-5',
      'sbp-2026-07-28-028': 'tutorials/security/security_best_practices#mitigation-5',
    },
    level: 'SHOULD',
    of: 'client',
    says: 'Pages of a web-based client run no scripts that are not their own.',
    proof: [
      'packages/sdk/test/client-auth/loopback.test.ts > turns away everything but the answer to this login, and waits on',
    ],
  },
  {
    places: {
      'sbp-2025-11-25-029': 'tutorials/security/security_best_practices#mitigation-5',
      'sbp-2026-07-28-029': 'tutorials/security/security_best_practices#mitigation-5',
    },
    level: 'MUST',
    of: 'client',
    says: 'Every URL a server names is parsed and judged before it is used, and comes to no shell.',
    proof: [
      'packages/sdk/test/client-auth/metadata.test.ts > has nobody sent to %s',
      'packages/sdk/test/client-auth/loopback.test.ts > is given the URL as one argument, whatever is in it',
      'packages/sdk/test/client-auth/loopback.test.ts > is not opened for %s',
      'packages/host/test/forms/inspect-url.test.ts > %j is not gone to',
      'packages/host/test/asking/url-visits.test.ts > is shown whole with the server that asks, and nothing of it is fetched on %s',
    ],
  },
  {
    places: {
      'sbp-2025-11-25-030': 'tutorials/security/security_best_practices#mitigation-6',
      'sbp-2026-07-28-030': 'tutorials/security/security_best_practices#mitigation-6',
    },
    level: 'SHOULD',
    of: 'host',
    says: 'Proxies that start processes put them into a sandbox, watch them and ask for dangerous commands.',
    otherwise:
      'The command behind a proxy is chosen by who runs the proxy and by none of its clients; a sandbox is part of that command where one is wanted.',
  },
  {
    places: {
      'sbp-2025-11-25-031': 'tutorials/security/security_best_practices#mitigation-6',
      'sbp-2026-07-28-031': 'tutorials/security/security_best_practices#mitigation-6',
    },
    level: 'SHOULD',
    of: 'host',
    says: 'Proxies run apart, with few rights.',
    otherwise: 'How a process is kept apart is up to who starts it.',
  },
  {
    places: { 'sbp-2026-07-28-032': 'tutorials/security/security_best_practices#mitigation-9' },
    level: 'SHOULD',
    of: 'client',
    says: 'A client asks for the scopes it had and the new ones together.',
    proof: [
      'packages/sdk/test/client-auth/step-up.test.ts > gets them in addition to those there are',
      'packages/sdk/test/auth/end-to-end.test.ts > a client signs in, and signs in again for what needs more (%s, bound to a key: %s)',
    ],
  },
])
