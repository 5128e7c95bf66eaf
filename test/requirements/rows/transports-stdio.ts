import type { Requirement } from '../requirement.ts'

/** stdio, and what holds for every transport. */
export const transportsStdio: readonly Requirement[] = [
  {
    places: {
      '2411-026': 'basic/transports',
      '2503-064': 'basic/transports',
      '2506-084': 'basic/transports',
      '2511-132': 'basic/transports',
    },
    level: 'SHOULD',
    of: 'client',
    says: 'Support stdio wherever that is possible.',
    proof: [
      'packages/sdk/test/client/official.test.ts > server-everything: tools, questions, progress, resources, prompts, subscriptions',
      'packages/sdk/test/transports/everywhere.test.ts > a client and a server meet at %s',
    ],
    runs: { only: 'stdio' },
  },
  {
    places: {
      '2503-063': 'basic/transports',
      '2506-083': 'basic/transports',
      '2511-131': 'basic/transports',
      '2607-224': 'basic/transports/index#messages',
    },
    level: 'MUST',
    of: 'both',
    says: 'JSON-RPC messages are UTF-8.',
    proof: [
      'packages/sdk/test/serve/stdio-messages.test.ts > is one valid message a line, in UTF-8, whatever its handlers say',
      'packages/sdk/test/links/stdio-messages.test.ts > is one valid message a line, in UTF-8, whatever the arguments hold',
      'packages/sdk/test/serve/http-guard.test.ts > bytes that are not UTF-8',
      'packages/sdk/test/links/stdio.test.ts > survive every way of cutting them into chunks',
    ],
    runs: { everywhere: ['text survives in UTF-8, whatever it holds'] },
  },
  {
    places: {
      '2411-027': 'basic/transports#stdio',
      '2503-065': 'basic/transports#stdio',
      '2506-085': 'basic/transports#stdio',
      '2511-133': 'basic/transports#stdio',
      '2607-228': 'basic/transports/stdio',
    },
    level: 'MUST NOT',
    of: 'both',
    says: 'A message over stdio holds no line break; line breaks stand between messages.',
    proof: [
      'packages/sdk/test/serve/stdio-messages.test.ts > is one valid message a line, in UTF-8, whatever its handlers say',
      'packages/sdk/test/links/stdio-messages.test.ts > is one valid message a line, in UTF-8, whatever the arguments hold',
      'packages/sdk/test/jsonrpc/framing.test.ts > gives the same lines however the bytes are cut',
    ],
    runs: { only: 'lines' },
  },
  {
    places: {
      '2411-028': 'basic/transports#stdio',
      '2503-066': 'basic/transports#stdio',
      '2506-086': 'basic/transports#stdio',
      '2511-135': 'basic/transports#stdio',
      '2607-230': 'basic/transports/stdio',
    },
    level: 'MUST NOT',
    of: 'server',
    says: 'Nothing but valid messages goes to stdout.',
    proof: [
      'packages/sdk/test/serve/stdio.test.ts > keeps stdout for messages whatever its code prints',
      'packages/sdk/test/serve/stdio-messages.test.ts > is one valid message a line, in UTF-8, whatever its handlers say',
    ],
    runs: { only: 'stdio' },
  },
  {
    places: {
      '2411-029': 'basic/transports#stdio',
      '2503-067': 'basic/transports#stdio',
      '2506-087': 'basic/transports#stdio',
      '2511-136': 'basic/transports#stdio',
      '2607-231': 'basic/transports/stdio',
    },
    level: 'MUST NOT',
    of: 'client',
    says: 'Nothing but valid messages goes to the stdin of the server.',
    proof: [
      'packages/sdk/test/links/stdio-messages.test.ts > is one valid message a line, in UTF-8, whatever the arguments hold',
    ],
    runs: { only: 'stdio' },
  },
  {
    places: { '2511-134': 'basic/transports#stdio', '2607-229': 'basic/transports/stdio' },
    level: 'SHOULD NOT',
    of: 'client',
    says: 'Output on stderr is not taken for a failure.',
    proof: [
      'packages/sdk/test/links/stdio-messages.test.ts > is not changed by what the process says on stderr, which is no failure',
    ],
    runs: { only: 'stdio' },
  },
  {
    places: { '2607-233': 'basic/transports/stdio#sending-messages' },
    level: 'MUST NOT',
    of: 'client',
    says: 'Over stdio a client of the stateless era writes requests and notifications, never responses.',
    proof: [
      'packages/sdk/test/links/stdio-messages.test.ts > is one valid message a line, in UTF-8, whatever the arguments hold',
    ],
    runs: {
      everywhere: [
        'nothing but requests and notices goes to a server without sessions, and no request comes from it',
      ],
    },
  },
  {
    places: { '2607-234': 'basic/transports/stdio#receiving-messages' },
    level: 'MUST',
    of: 'client',
    says: 'Notifications of a subscription are told apart by the subscription id in their `_meta`.',
    proof: ['packages/sdk/test/links/stdio-messages.test.ts > are told apart by their subscription id'],
    runs: { everywhere: ['a client tells subscriptions apart by their id'] },
  },
  {
    places: { '2607-235': 'basic/transports/stdio#receiving-messages' },
    level: 'MUST NOT',
    of: 'server',
    says: 'No requests go to stdout in the stateless era; questions travel in results.',
    proof: [
      'packages/sdk/test/serve/stdio-messages.test.ts > is one valid message a line, in UTF-8, whatever its handlers say',
      'packages/sdk/test/serve/duplex-changes.test.ts > ask by results and never by requests',
    ],
    runs: {
      everywhere: [
        'nothing but requests and notices goes to a server without sessions, and no request comes from it',
        'a request of a server without sessions is answered by nobody',
      ],
    },
  },
  {
    places: { '2607-236': 'basic/transports/stdio#cancellation' },
    level: 'MUST NOT',
    of: 'both',
    says: 'A request over stdio is cancelled by a notification; the server then stops and says nothing more about it.',
    proof: [
      'packages/sdk/test/links/stdio-messages.test.ts > is one valid message a line, in UTF-8, whatever the arguments hold',
      'packages/sdk/test/links/stdio.test.ts > are cancelled by a notice, and a late answer is ignored without a word',
      'packages/sdk/test/serve/stdio-messages.test.ts > holds nothing about a request that was cancelled',
      'packages/sdk/test/serve/duplex.test.ts > aborts the handler, sends no answer and frees the id',
    ],
    runs: { only: 'stdio' },
  },
  {
    places: { '2607-237': 'basic/transports/stdio#shutdown' },
    level: 'SHOULD',
    of: 'client',
    says: 'A process is shut down by closing its stdin, waiting, and ending it by force in the end.',
    proof: [
      'packages/sdk/test/links/stdio.test.ts > is quick for a server that ends with its input, and may be done twice',
      'packages/sdk/test/links/stdio.test.ts > ends the whole tree, also a grandchild that ignores SIGTERM',
      'packages/sdk/test/transports/process.test.ts > closing ends the whole tree',
    ],
    runs: { only: 'stdio' },
  },
  {
    places: { '2607-238': 'basic/transports/stdio#shutdown' },
    level: 'SHOULD',
    of: 'server',
    says: 'A server exits soon after its stdin ended.',
    proof: [
      'packages/sdk/test/serve/stdio.test.ts > ends about a second after its input did',
      'packages/sdk/test/serve/stdio.test.ts > answers a whole script that was piped in',
    ],
    runs: { only: 'stdio' },
  },
  {
    places: { '2607-239': 'basic/transports/stdio#unexpected-termination' },
    level: 'SHOULD',
    of: 'client',
    says: 'A server process that exits unexpectedly is started again.',
    proof: [
      'packages/host/test/connections/connections.test.ts > is started again after kill -9, with its tools kept meanwhile',
    ],
    runs: { only: 'stdio' },
  },
  {
    places: { '2607-240': 'basic/transports/stdio#backward-compatibility' },
    level: 'SHOULD',
    of: 'client',
    says: 'A client of both eras asks `server/discover` before anything else, and goes by the three outcomes of that.',
    proof: [
      'packages/sdk/test/client/hello.test.ts > of the stateless era is known by its answer to server/discover',
      'packages/sdk/test/client/hello.test.ts > that names an older revision as its newest is greeted with that one',
      'packages/sdk/test/client/hello.test.ts > is legacy, in the same process',
      'packages/sdk/test/client/hello.test.ts > that is silent on server/discover is legacy after the probe time, in the same process',
    ],
    runs: {
      everywhere: [
        'a client of both eras asks server/discover first, and begins a session where that is unknown',
      ],
    },
  },
  {
    places: { '2607-241': 'basic/transports/stdio#backward-compatibility' },
    level: 'MUST NOT',
    of: 'client',
    says: 'Falling back to `initialize` does not hang on one error code.',
    proof: [
      'packages/sdk/test/client/hello.test.ts > is legacy, in the same process',
      'packages/sdk/test/client/hello.test.ts > that is silent on server/discover is legacy after the probe time, in the same process',
    ],
    runs: {
      everywhere: [
        'a client of both eras asks server/discover first, and begins a session where that is unknown',
        'falling back to initialize hangs on no one error code',
      ],
    },
  },
  {
    places: {
      '2411-035': 'basic/transports#custom-transports',
      '2503-100': 'basic/transports#custom-transports',
      '2506-124': 'basic/transports#custom-transports',
      '2511-179': 'basic/transports#custom-transports',
    },
    level: 'MUST',
    of: 'both',
    says: 'A custom transport keeps the message format and the lifecycle.',
    proof: [
      'packages/sdk/test/transports/everywhere.test.ts > a client and a server meet at %s',
      'packages/sdk/test/transports/socket.test.ts > serves many clients at once, each with a session and ids of its own',
    ],
    runs: {
      everywhere: [
        'a session begins with initialize, its answer and word that the client is ready, and nothing before',
        'every message is a request, a response or a notice of JSON-RPC 2.0',
      ],
    },
  },
  {
    places: { '2607-226': 'basic/transports/index#custom-transports' },
    level: 'MUST',
    of: 'both',
    says: 'A custom transport keeps message format, message patterns and the metadata of each request.',
    proof: [
      'packages/sdk/test/transports/everywhere.test.ts > a client and a server meet at %s',
      'packages/sdk/test/serve/envelope.test.ts > is served alike, whoever its client says it is',
    ],
    runs: {
      everywhere: [
        'every request says which version, client and capabilities it comes with',
        'every message is a request, a response or a notice of JSON-RPC 2.0',
        'every request that is not given up is answered once, by its id',
      ],
    },
  },
  {
    places: { '2607-227': 'basic/transports/index#custom-transports', '2607-232': 'basic/transports/stdio' },
    level: 'SHOULD',
    of: 'both',
    says: 'A custom transport over a byte stream uses the framing of stdio.',
    proof: [
      'packages/sdk/test/transports/socket.test.ts > answers a batch with one line',
      'packages/sdk/test/transports/socket.test.ts > takes batched answers, in whatever pieces they come',
    ],
    runs: { only: 'lines' },
  },
  {
    places: { '2607-225': 'basic/transports/index#messages' },
    level: 'MUST',
    of: 'both',
    says: 'A binding carries requests and notifications to the server, responses and notifications to the client, and nothing else.',
    proof: [
      'packages/sdk/test/client/client.test.ts > reports progress and logs of a call',
      'packages/sdk/test/client/client.test.ts > watches for changes, and its cache hears of them first',
      'packages/sdk/test/client/results.test.ts > gets no answer to a request of its own',
      'packages/sdk/test/serve/duplex-changes.test.ts > ask by results and never by requests',
    ],
    runs: {
      everywhere: [
        'nothing but requests and notices goes to a server without sessions, and no request comes from it',
      ],
    },
  },
]
