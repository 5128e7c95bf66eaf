/** Bounds on everything a peer can make grow. Each place that enforces one takes an override. */
export const limits = {
  /** Bytes of one request body, one response body, one stdio frame, or one SSE event. */
  messageBytes: 4_194_304,
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
  rememberedChars: 268_435_456,
  /** Requests being served at once on one session or connection. */
  inFlight: 256,
  /** Stateless HTTP requests of one principal being served at once; `subscriptions/listen` has a limit of its own. */
  inFlightPerPrincipal: 1024,
  /** Stateless HTTP requests being served at once on one node, whoever sent them. */
  inFlightPerNode: 16_384,
  /** Clients connected to one socket server. */
  connections: 256,
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
  storedEventChars: 268_435_456,
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
  /** Questions one request may put on a legacy session, and rounds of the explicit form. */
  questions: 64,
  /**
   * Times in a row a model may use tools and get their results within one conversation (`sampling/createMessage`): a server
   * asks no more, and a client answers no more.
   */
  samplingToolRounds: 20,
} as const
