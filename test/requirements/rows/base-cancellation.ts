import type { Requirement } from '../requirement.ts'

export const baseCancellation: readonly Requirement[] = [
  {
    places: {
      '2411-036': 'basic/utilities/cancellation#behavior-requirements',
      '2503-101': 'basic/utilities/cancellation#behavior-requirements',
      '2506-125': 'basic/utilities/cancellation#behavior-requirements',
      '2511-180': 'basic/utilities/cancellation#behavior-requirements',
    },
    level: 'MUST',
    of: 'both',
    says: 'Only what the sender asked itself, and still waits for, is cancelled.',
    proof: [
      'packages/sdk/test/client/lifecycle.test.ts > are not sent for a request that was answered',
      'packages/sdk/test/links/http-sessions.test.ts > cancels by a notice, and stops reading',
      'packages/sdk/test/serve/duplex.test.ts > are taken back when the client cancels the request that asks',
      'packages/sdk/test/serve/duplex.test.ts > are taken back when the handler ends without waiting for the answer',
    ],
    runs: {
      everywhere: [
        'a client cancels what it still waits for and nothing else, as the transport has it',
        'a server takes its question back when the request that asks is cancelled, and ignores a late answer',
      ],
    },
  },
  {
    places: {
      '2411-037': 'basic/utilities/cancellation#behavior-requirements',
      '2503-102': 'basic/utilities/cancellation#behavior-requirements',
      '2506-126': 'basic/utilities/cancellation#behavior-requirements',
      '2511-181': 'basic/utilities/cancellation#behavior-requirements',
    },
    level: 'MUST NOT',
    of: 'client',
    says: 'initialize is never cancelled.',
    proof: ['packages/sdk/test/client/lifecycle.test.ts > never cancels initialize'],
    runs: { everywhere: ['initialize is never cancelled, also where nobody waits for its answer any more'] },
  },
  {
    places: {
      '2411-038': 'basic/utilities/cancellation#behavior-requirements',
      '2503-103': 'basic/utilities/cancellation#behavior-requirements',
      '2506-127': 'basic/utilities/cancellation#behavior-requirements',
      '2511-183': 'basic/utilities/cancellation#behavior-requirements',
    },
    level: 'SHOULD',
    of: 'both',
    says: 'What is cancelled is stopped, let go and not answered.',
    proof: [
      'packages/sdk/test/serve/duplex.test.ts > aborts the handler, sends no answer and frees the id',
      'packages/sdk/test/client/questions.test.ts > that were cancelled are not answered, and the handler is told',
      'packages/sdk/test/serve/http-legacy.test.ts > ends without a response when the client cancelled',
    ],
    runs: {
      everywhere: [
        'a cancelled request is stopped, and nothing more is said about it',
        'a client does not answer what the server took back, and its handler is told why',
      ],
    },
  },
  {
    places: {
      '2411-039': 'basic/utilities/cancellation#behavior-requirements',
      '2503-104': 'basic/utilities/cancellation#behavior-requirements',
      '2506-128': 'basic/utilities/cancellation#behavior-requirements',
      '2511-184': 'basic/utilities/cancellation#behavior-requirements',
    },
    level: 'SHOULD',
    of: 'both',
    says: 'An answer that comes too late is ignored.',
    proof: [
      'packages/sdk/test/links/stdio.test.ts > are cancelled by a notice, and a late answer is ignored without a word',
      'packages/sdk/test/serve/duplex.test.ts > are taken back when the client cancels the request that asks',
    ],
    runs: {
      everywhere: [
        'an answer that comes too late is ignored',
        'a server takes its question back when the request that asks is cancelled, and ignores a late answer',
      ],
    },
  },
  {
    places: {
      '2411-040': 'basic/utilities/cancellation#timing-considerations',
      '2503-105': 'basic/utilities/cancellation#timing-considerations',
      '2506-129': 'basic/utilities/cancellation#timing-considerations',
      '2511-185': 'basic/utilities/cancellation#timing-considerations',
      '2607-184': 'basic/patterns/cancellation#timing-considerations',
    },
    level: 'MUST',
    of: 'both',
    says: 'Whatever overtakes what, nothing goes wrong.',
    proof: [
      'packages/sdk/test/serve/duplex.test.ts > does not let a late cancel or a handler that goes on touch a later request with the same id',
      'packages/sdk/test/links/stdio.test.ts > are cancelled by a notice, and a late answer is ignored without a word',
      'packages/sdk/test/client/lifecycle.test.ts > are not sent for a request that was answered',
    ],
    runs: { everywhere: ['cancellations that race with their answers do no harm'] },
  },
  {
    places: {
      '2411-041': 'basic/utilities/cancellation#implementation-notes',
      '2503-106': 'basic/utilities/cancellation#implementation-notes',
      '2506-130': 'basic/utilities/cancellation#implementation-notes',
      '2511-186': 'basic/utilities/cancellation#implementation-notes',
      '2607-185': 'basic/patterns/cancellation#implementation-notes',
    },
    level: 'SHOULD',
    of: 'both',
    says: 'Why something was cancelled is told, for the log.',
    proof: [
      'packages/sdk/test/serve/envelope.test.ts > has its reason for cancelling told to the handler, and no answer',
      'packages/sdk/test/client/lifecycle.test.ts > tell a handler why the server took its question back',
    ],
    runs: {
      everywhere: [
        'the handler is told why it was cancelled, where the transport can say it',
        'a client does not answer what the server took back, and its handler is told why',
      ],
    },
  },
  {
    places: {
      '2411-042': 'basic/utilities/cancellation#implementation-notes',
      '2503-107': 'basic/utilities/cancellation#implementation-notes',
      '2506-131': 'basic/utilities/cancellation#implementation-notes',
      '2511-187': 'basic/utilities/cancellation#implementation-notes',
      '2607-186': 'basic/patterns/cancellation#implementation-notes',
    },
    level: 'SHOULD',
    of: 'host',
    says: 'A person sees that something is being cancelled.',
    proof: [
      'packages/host/test/broker/broker.test.ts > tells of progress, and stops at the server when it is cancelled',
      'packages/app/test/cli/exits.test.ts > Ctrl+C ends a call under way with 130',
    ],
    runs: { only: 'application' },
  },
  {
    places: {
      '2411-043': 'basic/utilities/cancellation#error-handling',
      '2503-108': 'basic/utilities/cancellation#error-handling',
      '2506-132': 'basic/utilities/cancellation#error-handling',
      '2511-188': 'basic/utilities/cancellation#error-handling',
      '2607-187': 'basic/patterns/cancellation#error-handling',
    },
    level: 'SHOULD',
    of: 'both',
    says: 'A cancellation that makes no sense is ignored.',
    proof: [
      'packages/sdk/test/serve/duplex.test.ts > aborts the handler, sends no answer and frees the id',
      'packages/sdk/test/client/lifecycle.test.ts > of a server are never answered, whatever they say',
    ],
    runs: { everywhere: ['a cancellation that makes no sense is ignored'] },
  },
  {
    places: { '2607-173': 'basic/patterns/cancellation' },
    level: 'SHOULD',
    of: 'client',
    says: 'A client says when it no longer wants an answer.',
    proof: [
      'packages/sdk/test/client/client.test.ts > tells the server when a call is given up, by its caller or by its clock',
    ],
    runs: {
      everywhere: [
        'a client cancels what it still waits for and nothing else, as the transport has it',
        'a request has a clock of its own, and is cancelled when it runs out',
      ],
    },
  },
  {
    places: { '2607-174': 'basic/patterns/cancellation' },
    level: 'MUST',
    of: 'server',
    says: 'A server cancels nothing but subscriptions it ends, and those it does.',
    proof: [
      'packages/sdk/test/serve/duplex-changes.test.ts > are taken back and answered when the server shuts down',
      'packages/sdk/test/serve/duplex.test.ts > aborts the handler, sends no answer and frees the id',
      'packages/sdk/test/serve/duplex-changes.test.ts > are refused without being taken back',
    ],
    runs: {
      everywhere: [
        'a server without sessions cancels nothing but a subscription that it ends, and answers that',
      ],
    },
  },
  {
    places: { '2607-175': 'basic/patterns/cancellation#transport-specific-cancellation' },
    level: 'MUST',
    of: 'server',
    says: 'Over HTTP a client that goes away has cancelled.',
    proof: [
      'packages/sdk/test/serve/http-modern.test.ts > are cancelled when the client disconnects, before and after the stream began',
      'packages/sdk/test/serve/http-node.test.ts > while it is being identified is as gone as any other',
    ],
    runs: { only: 'http' },
  },
  {
    places: { '2607-176': 'basic/patterns/cancellation#transport-specific-cancellation' },
    level: 'MUST',
    of: 'client',
    says: 'Over stdio a client cancels by a notice that names the request.',
    proof: [
      'packages/sdk/test/links/stdio.test.ts > are cancelled by a notice, and a late answer is ignored without a word',
    ],
    runs: { only: 'stdio' },
  },
  {
    places: { '2607-177': 'basic/patterns/cancellation#timeouts' },
    level: 'SHOULD',
    of: 'both',
    says: 'Requests have a clock; when it runs out they are cancelled as the transport has it.',
    proof: [
      'packages/sdk/test/links/http.test.ts > are cancelled by closing their stream, not by a notice',
      'packages/sdk/test/links/stdio.test.ts > are cancelled by a notice, and a late answer is ignored without a word',
      'packages/sdk/test/client/client.test.ts > tells the server when a call is given up, by its caller or by its clock',
    ],
    runs: { everywhere: ['a request has a clock of its own, and is cancelled when it runs out'] },
  },
  {
    places: { '2607-180': 'basic/patterns/cancellation#behavior-requirements' },
    level: 'MUST',
    of: 'client',
    says: 'A client cancels only its own requests that are still in flight.',
    proof: [
      'packages/sdk/test/links/stdio.test.ts > are cancelled by a notice, and a late answer is ignored without a word',
      'packages/sdk/test/client/lifecycle.test.ts > are not sent for a request that was answered',
    ],
    runs: {
      everywhere: ['a client cancels what it still waits for and nothing else, as the transport has it'],
    },
  },
  {
    places: { '2607-181': 'basic/patterns/cancellation#behavior-requirements' },
    level: 'MUST',
    of: 'server',
    says: 'What a server cancels is a subscription.',
    proof: [
      'packages/sdk/test/serve/duplex-changes.test.ts > are taken back and answered when the server shuts down',
      'packages/sdk/test/serve/duplex-changes.test.ts > ask by results and never by requests',
    ],
    runs: {
      everywhere: [
        'a server without sessions cancels nothing but a subscription that it ends, and answers that',
      ],
    },
  },
  {
    places: { '2607-182': 'basic/patterns/cancellation#behavior-requirements' },
    level: 'SHOULD',
    of: 'server',
    says: 'What is cancelled is stopped, let go and not answered.',
    proof: [
      'packages/sdk/test/serve/duplex.test.ts > aborts the handler, sends no answer and frees the id',
      'packages/sdk/test/serve/http-modern.test.ts > are cancelled when the client disconnects, before and after the stream began',
    ],
    runs: { everywhere: ['a cancelled request is stopped, and nothing more is said about it'] },
  },
  {
    places: { '2607-183': 'basic/patterns/cancellation#behavior-requirements' },
    level: 'SHOULD',
    of: 'client',
    says: 'An answer that comes too late is ignored.',
    proof: [
      'packages/sdk/test/links/stdio.test.ts > are cancelled by a notice, and a late answer is ignored without a word',
    ],
    runs: { everywhere: ['an answer that comes too late is ignored'] },
  },
]
