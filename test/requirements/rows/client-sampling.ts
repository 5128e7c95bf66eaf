import type { Requirement } from '../requirement.ts'

/** Sampling. */
export const clientSampling: readonly Requirement[] = [
  {
    places: {
      '2411-068': 'client/sampling#capabilities',
      '2503-134': 'client/sampling#capabilities',
      '2506-168': 'client/sampling#capabilities',
      '2511-332': 'client/sampling#capabilities',
    },
    level: 'MUST',
    of: 'client',
    says: 'A client that samples declares the capability when a session begins.',
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
    places: { '2607-356': 'client/sampling#capabilities' },
    level: 'MUST',
    of: 'client',
    says: 'A client that samples declares the capability on each request.',
    proof: ['packages/sdk/test/client/declarations.test.ts > declares %s on each of its requests'],
    runs: {
      everywhere: [
        'a client declares what it can answer, when a session begins or on every request, and nothing else',
      ],
    },
  },
  {
    places: {
      '2411-066': 'client/sampling#user-interaction-model',
      '2503-132': 'client/sampling#user-interaction-model',
      '2506-166': 'client/sampling#user-interaction-model',
      '2511-329': 'client/sampling#user-interaction-model',
      '2607-353': 'client/sampling#user-interaction-model',
    },
    level: 'SHOULD',
    of: 'host',
    says: 'A person can deny every sampling request.',
    proof: [
      'packages/host/test/sampling/sampling.test.ts > is refused when the person refuses the %s',
      'packages/app/test/surface/sampling.test.ts > shows model, reason, price, what is blanked, and all of the request, and starts at deny',
    ],
    runs: { only: 'application' },
  },
  {
    places: {
      '2411-067': 'client/sampling#user-interaction-model',
      '2503-133': 'client/sampling#user-interaction-model',
      '2506-167': 'client/sampling#user-interaction-model',
      '2511-330': 'client/sampling#user-interaction-model',
      '2607-354': 'client/sampling#user-interaction-model',
    },
    level: 'SHOULD',
    of: 'host',
    says: 'The person reviews and edits the request, and sees the result before it is told.',
    proof: [
      'packages/host/test/sampling/sampling.test.ts > shows the person the request and the result, and answers with the model',
      'packages/host/test/sampling/sampling.test.ts > gives the model the edited request and the server the edited result, to the byte',
      'packages/app/test/surface/sampling.test.ts > takes changes to everything at once, and keeps what cannot be changed',
      'packages/app/test/surface/sampling.test.ts > shows it whole with what it used and why it stopped, and can be changed before it is given',
    ],
    runs: { only: 'application' },
  },
  {
    places: {
      '2411-069': 'client/sampling#error-handling',
      '2503-135': 'client/sampling#error-handling',
      '2506-169': 'client/sampling#error-handling',
    },
    level: 'SHOULD',
    of: 'client',
    says: 'A refusal is an error, -1.',
    proof: [
      'packages/host/test/sampling/sampling.test.ts > is refused when the person refuses the %s',
      'packages/sdk/test/client/questions.test.ts > the person refused is refused with the handler’s own error',
    ],
    runs: { everywhere: ['a person who refuses is an error of its own'] },
  },
  {
    places: { '2511-338': 'client/sampling#error-handling' },
    level: 'SHOULD',
    of: 'client',
    says: 'A refusal is -1; tool results that are missing or mixed are -32602.',
    proof: [
      'packages/host/test/sampling/sampling.test.ts > is refused when the person refuses the %s',
      'packages/sdk/test/client/questions.test.ts > a use without its result',
      'packages/sdk/test/client/questions.test.ts > a result beside other content',
    ],
    runs: {
      everywhere: [
        'a person who refuses is an error of its own',
        'messages for a model answer every use of a tool at once and with nothing else, or are not put',
      ],
    },
  },
  {
    places: {
      '2411-070': 'client/sampling#security-considerations',
      '2503-136': 'client/sampling#security-considerations',
      '2506-170': 'client/sampling#security-considerations',
      '2511-298': 'client/elicitation#security-considerations',
      '2511-339': 'client/sampling#security-considerations',
      '2607-323': 'client/elicitation#security-considerations',
      '2607-365': 'client/sampling#security-considerations',
    },
    level: 'SHOULD',
    of: 'host',
    says: 'The person approves.',
    proof: [
      'packages/host/test/sampling/sampling.test.ts > shows the person the request and the result, and answers with the model',
      'packages/host/test/asking/asking.test.ts > carries %s to the server as it was meant',
      'packages/host/test/asking/url-visits.test.ts > is not agreed to for a person who was not there',
    ],
    runs: { only: 'application' },
  },
  {
    places: {
      '2411-071': 'client/sampling#security-considerations',
      '2503-137': 'client/sampling#security-considerations',
      '2506-171': 'client/sampling#security-considerations',
      '2511-340': 'client/sampling#security-considerations',
      '2607-366': 'client/sampling#security-considerations',
    },
    level: 'SHOULD',
    of: 'both',
    says: 'Both sides validate messages.',
    proof: [
      'packages/sdk/test/client/questions.test.ts > with %s is refused as invalid',
      'packages/sdk/test/serve/questions.test.ts > is not put where it breaks the rules: %s',
      'packages/sdk/test/core/answers.test.ts > that are %s are refused with the reason',
    ],
    runs: {
      everywhere: [
        'a server takes no answer that does not fit its question',
        'messages for a model answer every use of a tool at once and with nothing else, or are not put',
      ],
    },
  },
  {
    places: {
      '2411-072': 'client/sampling#security-considerations',
      '2503-138': 'client/sampling#security-considerations',
      '2506-172': 'client/sampling#security-considerations',
      '2511-341': 'client/sampling#security-considerations',
      '2607-367': 'client/sampling#security-considerations',
    },
    level: 'SHOULD',
    of: 'host',
    says: 'Hints for the model are followed.',
    proof: ['packages/host/test/sampling/choose.test.ts > by the hints %j is %s'],
    runs: { only: 'application' },
  },
  {
    places: {
      '2411-073': 'client/sampling#security-considerations',
      '2503-139': 'client/sampling#security-considerations',
      '2506-173': 'client/sampling#security-considerations',
      '2511-342': 'client/sampling#security-considerations',
      '2607-368': 'client/sampling#security-considerations',
    },
    level: 'SHOULD',
    of: 'client',
    says: 'Requests are limited in rate.',
    otherwise:
      'They are limited in number, at once and within one call, and a person has to answer each one; a rate besides would only refuse what they wait for.',
  },
  {
    places: {
      '2411-074': 'client/sampling#security-considerations',
      '2503-140': 'client/sampling#security-considerations',
      '2506-174': 'client/sampling#security-considerations',
      '2511-343': 'client/sampling#security-considerations',
      '2607-369': 'client/sampling#security-considerations',
    },
    level: 'MUST',
    of: 'both',
    says: 'Sensitive data is handled as such.',
    proof: [
      'packages/host/test/sampling/sampling.test.ts > fails without an answer when a surface or the model fails, and tells the server nothing of why',
      'packages/sdk/test/client/eras.test.ts > a handler that fails is reported here, and its text is not sent',
      'packages/sdk/test/serve/duplex-faults.test.ts > inside the server is reported and answered without a word about it',
      'packages/sdk/test/core/sealed-state.test.ts > hides what it holds',
      'packages/host/test/store/store.test.ts > is for its owner only',
    ],
    runs: {
      everywhere: [
        'arguments are checked before a handler runs, and a failure says nothing of its reason',
        'a client that fails to answer says so, and nothing of why',
      ],
    },
  },
  {
    places: {
      '2511-331': 'client/sampling#tools-in-sampling',
      '2607-355': 'client/sampling#tools-in-sampling',
    },
    level: 'MUST NOT',
    of: 'both',
    says: 'Sampling with tools is declared, and not asked of clients that did not.',
    proof: [
      'packages/sdk/test/client/declarations.test.ts > sampling with tools',
      'packages/sdk/test/serve/questions.test.ts > is not put to a client that did not declare it: %s with %j',
      'packages/sdk/test/serve/questions.test.ts > travel with uses and results in order',
      'packages/sdk/test/client/questions.test.ts > with tools is refused where tools were not declared',
    ],
    runs: {
      everywhere: [
        'a client declares what it can answer, when a session begins or on every request, and nothing else',
        'a client is asked nothing that it did not declare',
        'a question that a client did not declare is refused, and reaches nobody',
      ],
    },
  },
  {
    places: { '2511-333': 'client/sampling#capabilities', '2607-357': 'client/sampling#capabilities' },
    level: 'SHOULD',
    of: 'author',
    says: 'Context of servers is not asked for, least of all where it was not declared.',
    none: 'Whoever writes a handler decides; `ctx.can("sampling.context")` tells, and a client leaves the member out that did not declare it.',
  },
  {
    places: {
      '2511-334': 'client/sampling#tool-result-messages',
      '2607-358': 'client/sampling#tool-result-messages',
    },
    level: 'MUST',
    of: 'both',
    says: 'A message with tool results holds nothing else.',
    proof: [
      'packages/sdk/test/serve/questions.test.ts > is not put where it breaks the rules: %s',
      'packages/sdk/test/client/questions.test.ts > a result beside other content',
      'packages/host/test/sampling/tool-use.test.ts > never sees a request whose tool results are mixed or missing',
    ],
    runs: {
      everywhere: [
        'messages for a model answer every use of a tool at once and with nothing else, or are not put',
      ],
    },
  },
  {
    places: {
      '2511-335': 'client/sampling#tool-use-and-result-balance',
      '2607-359': 'client/sampling#tool-use-and-result-balance',
    },
    level: 'MUST',
    of: 'both',
    says: 'Every tool use is answered in the very next message.',
    proof: [
      'packages/sdk/test/serve/questions.test.ts > is not put where it breaks the rules: %s',
      'packages/sdk/test/client/questions.test.ts > a use without its result',
      'packages/sdk/test/client/questions.test.ts > one result of two',
      'packages/sdk/test/protocol/elicit.test.ts > is balanced: every use is answered in the next message',
    ],
    runs: {
      everywhere: [
        'messages for a model answer every use of a tool at once and with nothing else, or are not put',
      ],
    },
  },
  {
    places: {
      '2511-344': 'client/sampling#security-considerations',
      '2607-370': 'client/sampling#security-considerations',
    },
    level: 'MUST',
    of: 'server',
    says: 'Every tool use of the model is answered by a result with its id, and by nothing else.',
    proof: [
      'packages/sdk/test/serve/questions.test.ts > is not put where it breaks the rules: %s',
      'packages/sdk/test/serve/questions.test.ts > travel with uses and results in order',
    ],
    runs: {
      everywhere: [
        'messages for a model answer every use of a tool at once and with nothing else, or are not put',
      ],
    },
  },
  {
    places: {
      '2511-336': 'client/sampling#tool-choice-modes',
      '2607-360': 'client/sampling#tool-choice-modes',
    },
    level: 'MUST',
    of: 'host',
    says: 'With `required` the model uses a tool.',
    proof: [
      'packages/host/test/sampling/sampling.test.ts > hands on tools the server offers and the calls the model makes of them',
      'packages/host/test/models/ai-model-tools.test.ts > are offered under names every provider accepts, and called back under their own',
    ],
    runs: { only: 'application' },
  },
  {
    places: {
      '2511-337': 'client/sampling#tool-choice-modes',
      '2607-361': 'client/sampling#tool-choice-modes',
    },
    level: 'MUST NOT',
    of: 'host',
    says: 'With `none` the model uses no tool.',
    proof: ['packages/host/test/sampling/tool-use.test.ts > is not passed on where the server allowed none'],
    runs: { only: 'application' },
  },
  {
    places: {
      '2511-345': 'client/sampling#security-considerations',
      '2607-371': 'client/sampling#security-considerations',
    },
    level: 'SHOULD',
    of: 'both',
    says: 'Loops of tool use have an end.',
    proof: [
      'packages/sdk/test/client/eras.test.ts > a server that asks without end is stopped',
      'packages/host/test/agent/conversation.test.ts > ends after the bound on rounds, with every call answered',
    ],
    runs: { everywhere: ['a server that asks without end is stopped'] },
  },
  {
    places: { '2607-362': 'client/sampling#messages' },
    level: 'MUST',
    of: 'both',
    says: 'A message has a role and content.',
    proof: [
      'packages/sdk/test/serve/questions.test.ts > has what the revision asks for: message and form, prompt and limit',
      'packages/sdk/test/client/questions.test.ts > messages that are none',
    ],
    runs: { everywhere: ['a question has everything its revision asks for'] },
  },
  {
    places: { '2607-363': 'client/sampling#messages' },
    level: 'SHOULD NOT',
    of: 'host',
    says: 'Messages of one request are not kept for another.',
    proof: [
      'packages/host/test/sampling/tool-use.test.ts > sees nothing of an earlier request, nor of another server',
    ],
    runs: { only: 'application' },
  },
  {
    places: { '2607-364': 'client/sampling#sampling-parameters' },
    level: 'MUST',
    of: 'host',
    says: '`maxTokens` is respected.',
    proof: [
      'packages/host/test/sampling/sampling.test.ts > never asks the model for more tokens than the server did',
      'packages/host/test/models/ai-model.test.ts > text from a server that ignores the token limit is cut to it',
      'packages/host/test/models/offline.test.ts > keeps to the token limit and to stop sequences',
    ],
    runs: { only: 'application' },
  },
  {
    places: { '2607-352': 'client/sampling' },
    level: 'SHOULD NOT',
    of: 'both',
    says: 'New implementations do not take up sampling.',
    otherwise:
      'Every published revision is served in full, and sampling is part of each. A client declares it only where it is given a model.',
  },
]
