/** Default limits on what a peer can cause to grow. `limits` of each transport, or options of `connect`, override them. */
export const limits = {
  /** Bytes of one request body, one response body, one stdio frame, or one SSE event. */
  messageBytes: 4_194_304,
  /**
   * Bytes that one node holds for its clients at once: requests being read and served, session state, unsent events and
   * responses. One principal, and one connection, may hold a quarter of them. Stored events and remembered values have
   * limits of their own. The defaults suit a container of 512 MB.
   */
  memoryBytes: 134_217_728,
  /**
   * Consecutive lines, or events, without a message within `invalidMs`: a peer that sends more is disconnected. Some programs
   * log to their output.
   */
  invalidLines: 10_000,
  /** Bytes of such lines and events within `invalidMs`. */
  invalidBytes: 16_777_216,
  /** Milliseconds after which such lines, events and bytes are counted from zero again. */
  invalidMs: 60_000,
  /** Nesting of one JSON text. */
  jsonDepth: 64,
  /** Messages in one batch (2025-03-26). */
  batch: 100,
  /** Characters of the event id in `Last-Event-ID`. */
  eventIdChars: 8192,
  /** Characters of a URI. */
  uriChars: 8192,
  /** Characters of a cursor. */
  cursorChars: 4096,
  /** Characters of `requestState`; larger state moves to the backplane. */
  stateChars: 65_536,
  /** Milliseconds that a `requestState` is valid. */
  stateTtlMs: 1_800_000,
  /**
   * Values that a backplane in memory keeps: one for each used `requestState`, until it expires, and large ones. One
   * principal may have a fifth of them. At the limit, input requests and responses that need one are refused.
   */
  remembered: 100_000,
  /** Total characters of those values, of which one principal may have a fifth. */
  rememberedChars: 33_554_432,
  /** Requests being served at once on one session or connection. */
  inFlight: 256,
  /**
   * HTTP requests of one principal being served at once, including those of its sessions, and of ended sessions whose
   * handlers still run. `subscriptions/listen` has a limit of its own.
   */
  inFlightPerPrincipal: 1024,
  /** HTTP requests being served at once on one node, from all senders. */
  inFlightPerNode: 16_384,
  /** Clients connected to one socket server. */
  connections: 256,
  /** Connections to a handler that listens on its own port; further ones are closed at once. */
  httpConnections: 10_000,
  /** HTTP sessions (revisions up to 2025-11-25) on one node. */
  sessions: 10_000,
  /** HTTP sessions of one principal on one node. */
  sessionsPerPrincipal: 1000,
  /** Milliseconds an unused session is kept. */
  sessionIdleMs: 1_800_000,
  /** `subscriptions/listen` streams on one node. */
  listenStreams: 1024,
  /** `subscriptions/listen` streams of one principal on one node. */
  listenStreamsPerPrincipal: 64,
  /** Resource URIs in one subscription. */
  subscribedUris: 1024,
  /** Unread bytes on one stream. */
  streamQueueBytes: 1_048_576,
  /**
   * Milliseconds that a stream's reader may stall before it is disconnected. Over TCP the system reports progress in steps
   * of up to megabytes, so a reader that receives less than such a step in this time may appear stalled.
   */
  streamStallMs: 30_000,
  /** Events kept per session for resumption. */
  storedEvents: 1000,
  /** Characters of stored events of all sessions that a backplane in memory keeps; the least recently used are dropped. */
  storedEventChars: 33_554_432,
  /** Milliseconds stored events are kept. */
  storedEventsMs: 3_600_000,
  /** Milliseconds within which the headers of a request must arrive, if a handler listens on its own port. */
  headersMs: 60_000,
  /** Milliseconds within which a whole request must arrive, if a handler listens on its own port. */
  requestMs: 300_000,
  /** Milliseconds between keep-alive comments on a stream. */
  keepAliveMs: 15_000,
  /** Pages of one list that a client fetches. */
  pages: 1000,
  /** Total bytes of the pages of one list. */
  listBytes: 16_777_216,
  /** Characters of the responses that a client's cache keeps; the oldest are dropped first. */
  cacheChars: 33_554_432,
  /** Input requests of one request on a session, and rounds of `inputRequired`. */
  questions: 64,
  /**
   * Consecutive rounds of tool use within one conversation (`sampling/createMessage`): servers send no request with more, and
   * clients refuse it.
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
