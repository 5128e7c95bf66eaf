/** One change of a request about which our server and the official schema of its revision do not agree. */
export interface Apart {
  revision: string
  method: string
  /** The member that was changed, as `params.name`. */
  place: string
  /** What it was changed to, as JSON text, or `absent`. */
  value: string
  /** What our server did with it; the schema says the opposite. */
  server: 'taken' | 'refused'
}

/** A kind of change about which both may differ, and why. */
export interface Exception {
  place: RegExp
  server: Apart['server']
  values?: readonly string[]
  methods?: readonly string[]
  reason: string
}

/** Everything our server and the official schemas do not agree on. */
export const exceptions: readonly Exception[] = [
  {
    place: /^id$/,
    server: 'taken',
    values: ['absent'],
    reason: 'A request without an id is a notification, and those are never answered, not even with an error',
  },
  {
    place: /^id$/,
    server: 'refused',
    reason:
      'The schemas of the first three revisions let a request with an unusable id pass as a notification; no answer could name it',
  },
  {
    place: /^params\._meta$/,
    server: 'taken',
    reason:
      'In a session `_meta` is optional; what is no object is treated as if it were absent, as clients that write null expect',
  },
  {
    place: /^params\._meta\.progressToken$/,
    server: 'taken',
    reason: 'A progress token of another type is not used: the request is served, and no progress is sent',
  },
  {
    place: /^params\._meta\.io\.modelcontextprotocol\/protocolVersion$/,
    server: 'refused',
    values: ['""', '"x"'],
    reason: 'The schema allows any text; there is no such revision',
  },
  {
    place: /^params\.(?:name|ref\.name|argument\.name)$/,
    server: 'refused',
    values: ['""', '"x"'],
    reason: 'The schema allows any name; the server has nothing that is called so',
  },
  {
    place: /^params\.arguments$/,
    server: 'taken',
    values: ['null'],
    methods: ['prompts/get'],
    reason: 'Arguments of a prompt that are null are none, as clients that write null for nothing mean it',
  },
  {
    place: /^params\.capabilities\.(?:experimental|roots\.listChanged)/,
    server: 'taken',
    methods: ['initialize'],
    reason: 'What a client says it can do beyond what this server asks of it is not looked at',
  },
]
