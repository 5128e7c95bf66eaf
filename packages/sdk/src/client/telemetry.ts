import type { JsonObject, RequestId } from '../jsonrpc/message.ts'

/** A request as telemetry sees it: one of this client, or one of its server. */
export interface TelemetryRequest {
  /** The sender of the request. */
  readonly by: 'client' | 'server'
  /** The method, such as `tools/call`. */
  readonly method: string
  /** The params, which may contain personal data. */
  readonly params: Readonly<JsonObject>
  /** The protocol revision, once negotiated. */
  readonly revision: string | undefined
  /** `stdio`, `http`, `sse`, `socket` or `memory`. Undefined where the parent's applies. */
  readonly transport: string | undefined
  /** The transport's session id, if any. */
  readonly session: string | undefined
  /** The span of the request that caused this one, if there is one. */
  readonly parent: TelemetrySpan | undefined
}

/** The span of one request. A call is one span, however many messages it takes. */
export interface TelemetrySpan {
  /** Added to the `_meta` of every message of the request. */
  readonly meta: Readonly<JsonObject>
  /** A message of the request is being sent. */
  sent(id: RequestId): void
  /** Runs `work` with this span active. */
  run<T>(work: () => T): T
  /** Ends the span. Called once. */
  end(outcome: { readonly result: Readonly<JsonObject> } | { readonly error: unknown }): void
}

/** Traces a client's requests. `telemetry()` of `@jackfield/sdk/telemetry` creates one. */
export interface ClientTelemetry {
  /** Starts a span, or returns undefined for a request that is not traced. Must not throw. */
  begin(request: TelemetryRequest): TelemetrySpan | undefined
}

/** Runs a request under its span and ends the span. */
export async function withSpan<T>(
  span: TelemetrySpan,
  work: () => Promise<T>,
  resultOf: (value: T) => Readonly<JsonObject>,
): Promise<T> {
  try {
    const value = await span.run(work)
    span.end({ result: resultOf(value) })
    return value
  } catch (error) {
    span.end({ error })
    throw error
  }
}
