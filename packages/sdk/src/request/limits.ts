/** Default bounds on everything a peer can make grow. Each place that enforces one takes an override. */
export const limits = {
  /** Bytes of one request body, one response body, one stdio frame, or one SSE event. */
  messageBytes: 4_194_304,
  /**
   * Bytes that one node holds for its clients at once: requests being read and served, state of sessions, events and
   * answers that were not sent yet. One principal, and one connection, may hold a quarter of them. Stored events and
   * remembered values have limits of their own. The defaults suit a container of 512 MB.
   */
  memoryBytes: 134_217_728,
  /**
   * Lines, or events, in a row that hold no message, within `invalidMs`: a peer that sends more of them is cut. Some programs
   * log to their output.
   */
  invalidLines: 10_000,
  /** Bytes of such lines and events, likewise. */
  invalidBytes: 16_777_216,
  /** Milliseconds after which the count of such lines, events and bytes begins anew. */
  invalidMs: 60_000,
  /** Nesting of one JSON text. */
  jsonDepth: 64,
  /** Messages in one batch (2025-03-26). */
  batch: 100,
  /** Characters of an event id a client gives back in `Last-Event-ID`. */
  eventIdChars: 8192,
  /** Characters of a URI. */
  uriChars: 8192,
  /** Characters of a cursor. */
  cursorChars: 4096,
  /** Characters of `requestState`; larger state moves to the backplane. */
  stateChars: 65_536,
  /** Milliseconds a `requestState` stays good. */
  stateTtlMs: 1_800_000,
  /**
   * Values that a backplane in memory keeps: one for each `requestState` that was used, until it goes bad, and the large
   * ones. One principal's are a fifth of them at most. Where no more fit, questions and answers that need one are refused.
   */
  remembered: 100_000,
  /** Characters of those values in all; one principal's are a fifth of them at most. */
  rememberedChars: 33_554_432,
  /** Requests being served at once on one session or connection. */
  inFlight: 256,
  /**
   * HTTP requests of one principal being served at once, those of its sessions among them, also where a session has
   * ended and its handlers still run. `subscriptions/listen` has a limit of its own.
   */
  inFlightPerPrincipal: 1024,
  /** HTTP requests being served at once on one node, whoever sent them. */
  inFlightPerNode: 16_384,
  /** Clients connected to one socket server. */
  connections: 256,
  /** Connections to a handler that listens on a port of its own; further ones are closed at once. */
  httpConnections: 10_000,
  /** Legacy HTTP sessions on one node. */
  sessions: 10_000,
  /** Legacy HTTP sessions of one principal on one node. */
  sessionsPerPrincipal: 1000,
  /** Milliseconds an unused legacy session is kept. */
  sessionIdleMs: 1_800_000,
  /** `subscriptions/listen` streams on one node. */
  listenStreams: 1024,
  /** `subscriptions/listen` streams of one principal on one node. */
  listenStreamsPerPrincipal: 64,
  /** Resource URIs in one subscription. */
  subscribedUris: 1024,
  /** Bytes waiting to be read on one stream. */
  streamQueueBytes: 1_048_576,
  /**
   * Milliseconds a stream's reader may stall before it is cut. Over TCP the system shows what a reader took in steps of up
   * to megabytes, so one that takes less than such a step in this time may look stalled.
   */
  streamStallMs: 30_000,
  /** Events kept per session for resumption. */
  storedEvents: 1000,
  /** Characters of stored events that a backplane in memory keeps of all sessions; those quiet for longest go first. */
  storedEventChars: 33_554_432,
  /** Milliseconds stored events are kept. */
  storedEventsMs: 3_600_000,
  /** Milliseconds the headers of a request may take to come, where a handler listens on a port of its own. */
  headersMs: 60_000,
  /** Milliseconds a whole request may take to come, likewise. */
  requestMs: 300_000,
  /** Milliseconds between keep-alive comments on a stream. */
  keepAliveMs: 15_000,
  /** Pages a client fetches of one list. */
  pages: 1000,
  /** Bytes of one list in all, whatever number of pages it comes in. */
  listBytes: 16_777_216,
  /** Characters of the answers that a client's cache keeps; the oldest are dropped first. */
  cacheChars: 33_554_432,
  /** Questions one request may put on a legacy session, and rounds of the explicit form. */
  questions: 64,
  /**
   * Times in a row a model may use tools and get their results within one conversation (`sampling/createMessage`): a server
   * asks no more, and a client answers no more.
   */
  samplingToolRounds: 20,
} as const

/** The limits that apply to the serving of one request. */
export type RequestLimits = Readonly<
  Record<
    | 'uriChars'
    | 'cursorChars'
    | 'stateChars'
    | 'subscribedUris'
    | 'questions'
    | 'samplingToolRounds'
    | 'messageBytes'
    | 'listBytes'
    | 'pages',
    number
  >
>
