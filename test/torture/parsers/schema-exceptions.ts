/** The mutated message: a request, a result, an error, a question to the client or its answer, a notification. */
export type Kind = 'request' | 'result' | 'error' | 'question' | 'answer' | 'notice' | 'quiet notice'

/** One change of a message about which ours and the official schema of its revision do not agree. */
export interface Apart {
  kind: Kind
  revision: string
  /** The method, or for an error its code. */
  method: string
  /** The member that was changed, as `params.name`. */
  place: string
  /** What it was changed to, as JSON text, or `absent`. */
  value: string
  /** Our verdict; the schema has the opposite. */
  ours: 'taken' | 'refused'
}

/** A kind of change about which both may differ, and why. */
export interface Exception {
  kind: Kind
  place: RegExp
  ours: Apart['ours']
  values?: readonly string[]
  methods?: readonly string[]
  /** Only before this revision. */
  before?: string
  reason: string
}

const requests: readonly Omit<Exception, 'kind'>[] = [
  {
    place: /^id$/,
    ours: 'taken',
    values: ['absent'],
    reason: 'A request without an id is a notification, and those are never answered, not even with an error',
  },
  {
    place: /^id$/,
    ours: 'refused',
    before: '2025-11-25',
    reason:
      'The schemas of the first three revisions let a request with an unusable id pass as a notification; no answer could name it',
  },
  {
    place: /^params\._meta$/,
    ours: 'taken',
    before: '2026-07-28',
    reason:
      'In a session `_meta` is optional; what is no object is treated as if it were absent, as clients that write null expect',
  },
  {
    place: /^params\._meta\.progressToken$/,
    ours: 'taken',
    reason: 'A progress token of another type is not used: the request is served, and no progress is sent',
  },
  {
    place: /^params\._meta\.io\.modelcontextprotocol\/protocolVersion$/,
    ours: 'refused',
    values: ['""', '"x"'],
    reason: 'The schema allows any text; there is no such revision',
  },
  {
    place: /^params\.(?:name|ref\.name|argument\.name)$/,
    ours: 'refused',
    values: ['""', '"x"'],
    reason: 'The schema allows any name; the server has nothing that is called so',
  },
  {
    place: /^params\.arguments$/,
    ours: 'taken',
    values: ['null'],
    methods: ['prompts/get'],
    reason: 'Arguments of a prompt that are null are none, as clients that write null for nothing mean it',
  },
  {
    place: /^params\.capabilities\.(?:experimental|roots\.listChanged)/,
    ours: 'taken',
    methods: ['initialize'],
    reason: 'What a client says it can do beyond what this server asks of it is not looked at',
  },
]

const results: readonly Omit<Exception, 'kind'>[] = [
  {
    place:
      /(?:^|\.)(?:_meta|annotations|audience|lastModified|priority|description|title|mimeType|size|icons|sizes)$/,
    ours: 'taken',
    values: ['null'],
    reason:
      'Servers that write null for a member they do not have mean that it is not there: it is taken out',
  },
  {
    place: /(?:^|\.)(?:nextCursor|total|hasMore|isError|arguments|required|\w+Hint)$/,
    ours: 'taken',
    values: ['null'],
    reason: 'As before: null stands for nothing',
  },
  {
    place:
      /(?:^|\.)(?:_meta|lastModified|title|icons|mimeType|sizes|icons\.\d+|sizes\.\d+|src|annotations|\w+Hint)$/,
    ours: 'refused',
    before: '2025-11-25',
    reason:
      'A member that a later revision defines is held to its type in every revision, and left out where it has another',
  },
  {
    place: /\.icons(?:\.\d+(?:\.src)?)?$/,
    ours: 'refused',
    reason:
      'Icons without an address, or whose address is neither https: nor data:, are not safe to show and left out',
  },
  {
    place: /^resultType$/,
    ours: 'refused',
    values: ['""', '"x"'],
    reason: 'The schema allows any text; a result of an undeclared type cannot be understood',
  },
  {
    place: /^resultType$/,
    ours: 'taken',
    values: ['absent'],
    reason: 'The specification has clients take a result without a type for a complete one',
  },
  {
    place: /^(?:protocolVersion|supportedVersions(?:\.0)?)$/,
    ours: 'refused',
    methods: ['initialize', 'server/discover'],
    values: ['""', '"x"', '[]', 'absent'],
    reason: 'The schema allows any text and any list; there is no revision that both speak',
  },
  {
    place: /^capabilities\.completions$/,
    ours: 'refused',
    before: '2025-03-26',
    methods: ['initialize'],
    reason: 'A capability is an object in every revision that has it',
  },
  {
    place: /^(?:ttlMs|cacheScope)$/,
    ours: 'taken',
    reason: 'A result that does not say right how long and for whom it may be kept is used and not kept',
  },
  {
    place: /^(?:_meta|_meta\.io\.modelcontextprotocol\/serverInfo.*|serverInfo.*|instructions)$/,
    ours: 'taken',
    methods: ['initialize', 'server/discover'],
    reason:
      'Nothing that a server says of itself is a reason not to be served by it: what has the wrong type is taken out',
  },
  {
    place: /^capabilities(?:$|\.experimental|\.\w+\.(?:listChanged|subscribe)$)/,
    ours: 'taken',
    methods: ['initialize', 'server/discover'],
    reason: 'A capability that is not said right is one the server does not have',
  },
  {
    place: /^tools\.\d+\.(?:inputSchema|outputSchema)/,
    ours: 'taken',
    reason: 'A tool is offered whatever its schemas are: what fits them is found out when it is called',
  },
  {
    place: /^(?:completion\.total|.*\.size)$/,
    ours: 'taken',
    values: ['1.5'],
    reason: 'The text of the specification calls it a number, and nothing depends on its being whole',
  },
  {
    place: /\.uri$/,
    ours: 'taken',
    values: ['""', '"x"'],
    reason: 'A URI of a server is its own name for something, and only given back to it',
  },
  {
    place: /\.(?:data|blob)$/,
    ours: 'taken',
    values: ['"x"'],
    reason: 'What is no base64 is found out by whoever decodes it, if it is decoded at all',
  },
  {
    place: /\.(?:content\.)?type$/,
    ours: 'taken',
    values: ['""', '"x"'],
    methods: ['tools/call', 'prompts/get'],
    reason: 'A block of a kind that no revision has yet is handed on as it is',
  },
  {
    place: /^content$/,
    ours: 'taken',
    values: ['absent'],
    reason: 'A result with structured content alone is common, and complete enough to use',
  },
  {
    place: /^structuredContent$/,
    ours: 'taken',
    before: '2026-07-28',
    reason:
      'The newest revision allows any value, and a tool without a schema for it may give any in the others too',
  },
  {
    place: /^(?:resultType|_meta(?:$|\.))/,
    ours: 'taken',
    methods: ['subscriptions/listen'],
    reason: 'The end of a subscription is its end, whatever is said with it: nothing of it is used',
  },
]

const errors: readonly Omit<Exception, 'kind'>[] = [
  {
    place: /^error\.data/,
    ours: 'taken',
    methods: ['-32021', '-32022'],
    reason: 'The error counts without its details, which are not used where they are not what they must be',
  },
]

const questions: readonly Omit<Exception, 'kind'>[] = [
  {
    place: /^params\.requestedSchema\.(?:properties|properties\.sure|required\.\d+)$/,
    ours: 'refused',
    values: ['{}', 'absent', '""', '"x"'],
    reason: 'The schema allows a form that requires what is no field of it; no user can fill it in',
  },
  {
    place: /^params\.requestedSchema\.properties\.\w+\.(?:enum|enumNames|oneOf)/,
    ours: 'refused',
    reason:
      'The schema lets a field whose choices are none pass as a plain text, of which it allows any members',
  },
  {
    place: /^params\.maxTokens$/,
    ours: 'refused',
    values: ['-1'],
    reason: 'The schema allows any whole number; no model says less than nothing',
  },
  {
    place: /^params\./,
    ours: 'taken',
    values: ['null'],
    methods: ['sampling/createMessage'],
    reason:
      'Servers that write null for a member they do not have mean that it is not there: it is taken out',
  },
  {
    place: /^params\.messages\.\d+\.content$/,
    ours: 'taken',
    values: ['[]'],
    before: '2025-11-25',
    reason: 'A later revision has lists of blocks, and an empty one asks nothing of the model',
  },
  {
    place: /\.data$/,
    ours: 'taken',
    values: ['"x"'],
    reason: 'What is no base64 is found out by whoever decodes it',
  },
  {
    place: /^params\.metadata\.a$/,
    ours: 'taken',
    values: ['1.5'],
    reason: 'The specification allows any JSON value here, of which the schema forgets fractions',
  },
  {
    place: /^params\.tools\.\d+\.inputSchema\.properties/,
    ours: 'taken',
    reason: 'What a tool takes is for the model to read and for the server to check',
  },
]

const rounds: readonly Omit<Exception, 'kind'>[] = [
  {
    place: /^resultType$/,
    ours: 'taken',
    values: ['absent'],
    methods: ['input_required'],
    reason:
      'The specification has clients take a result without a type for a complete one, which then asks nothing',
  },
]

const answers: readonly Omit<Exception, 'kind'>[] = [
  {
    place: /^content(?:\.\w+)?$/,
    ours: 'refused',
    methods: ['elicitation/create'],
    reason: 'The schema does not know the form; what does not fit it is no answer to it',
  },
  {
    place: /^content(?:\.\d+)?$/,
    ours: 'refused',
    values: ['[]', 'absent'],
    methods: ['sampling/createMessage'],
    reason: 'The schema allows a list without blocks; a model that says nothing has not answered',
  },
  {
    place: /(?:^|\.)(?:name|annotations|audience|priority|stopReason)$/,
    ours: 'taken',
    values: ['null'],
    reason:
      'Clients that write null for a member they do not have mean that it is not there: it is taken out',
  },
  {
    place: /\.data$/,
    ours: 'taken',
    values: ['"x"'],
    reason: 'What is no base64 is found out by the handler that decodes it',
  },
]

const notices: readonly Omit<Exception, 'kind'>[] = [
  {
    place: /^params(?:\.requestId)?$/,
    ours: 'refused',
    methods: ['notifications/cancelled'],
    reason: 'The schema allows any id and sometimes none; only a request under way can be taken back',
  },
  {
    place: /^params\.elicitationId$/,
    ours: 'refused',
    values: ['""', '"x"'],
    reason: 'The schema allows any id; only a visit that was asked for can be over',
  },
  {
    place: /^params\.progressToken$/,
    ours: 'refused',
    values: ['""', '"x"', '-1', '1'],
    reason: 'The schema allows any token; one that no request gave is about nothing',
  },
  {
    place: /^params\._meta(?:$|\.io\.modelcontextprotocol\/subscriptionId$)/,
    ours: 'refused',
    methods: ['notifications/subscriptions/acknowledged'],
    reason: 'The schema allows any id and none; only a subscription that was asked for can begin',
  },
  {
    place: /^params\.(?:_meta|reason|logger|message|total)$/,
    ours: 'taken',
    reason: 'A notice counts for what it is about: what stands beside it and has the wrong type is not told',
  },
  {
    place: /^params\.data$/,
    ours: 'taken',
    values: ['absent'],
    methods: ['notifications/message'],
    reason: 'A log message without data is told as one that says nothing but its level',
  },
  {
    place: /^params\.uri$/,
    ours: 'taken',
    values: ['""', '"x"'],
    reason: 'A URI of a server is its own name for something, and only given back to it',
  },
  {
    place: /^params\.notifications/,
    ours: 'taken',
    methods: ['notifications/subscriptions/acknowledged'],
    reason:
      'What an acknowledgement does not say right was not agreed to; the subscription begins without it',
  },
]

const quietNotices: readonly Omit<Exception, 'kind'>[] = [
  {
    place: /^(?:method|params(?:\..+)?)$/,
    ours: 'taken',
    reason:
      'A notice is never answered, not even with an error, and of one without an effect nothing is used',
  },
]

/** Everything ours and the official schemas do not agree on. */
export const exceptions: readonly Exception[] = [
  ...requests.map((one) => ({ kind: 'request' as const, ...one })),
  ...results.map((one) => ({ kind: 'result' as const, ...one })),
  ...errors.map((one) => ({ kind: 'error' as const, ...one })),
  ...[...questions, ...rounds].map((one) => ({ kind: 'question' as const, ...one })),
  ...answers.map((one) => ({ kind: 'answer' as const, ...one })),
  ...notices.map((one) => ({ kind: 'notice' as const, ...one })),
  ...quietNotices.map((one) => ({ kind: 'quiet notice' as const, ...one })),
]
