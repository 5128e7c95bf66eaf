import type { JsonObject, RequestId } from '../jsonrpc/message.ts'

/** A request of this client, or a question of its server, as a tracer gets to see it. */
export interface TelemetryRequest {
  /** Who asks: this client sends a request, its server puts a question. */
  readonly by: 'client' | 'server'
  readonly method: string
  readonly params: Readonly<JsonObject>
  /** The revision that is spoken, once it is agreed. */
  readonly revision: string | undefined
  /** Names the transport: `stdio`, `http`, `sse`, `socket`, `memory`. Undefined where it is that of the parent. */
  readonly transport: string | undefined
  /** The session of the transport, where it has one. */
  readonly session: string | undefined
  /** What it is a part of. */
  readonly parent: TelemetrySpan | undefined
}

/** One request while it is followed. A call that is asked back is one, however many messages it takes. */
export interface TelemetrySpan {
  /** What to add to the `_meta` of every message sent for it. */
  readonly meta: Readonly<JsonObject>
  /** A message for it goes out. */
  sent(id: RequestId): void
  /** Runs something as a part of it. */
  run<T>(work: () => T): T
  /** It is over. Called once. */
  end(outcome: { readonly result: Readonly<JsonObject> } | { readonly error: unknown }): void
}

/** Follows what a client does, for tracing. `telemetry()` of `@jackfield/sdk/telemetry` makes one. */
export interface ClientTelemetry {
  /** A request begins; undefined for one that is not followed. Must not throw. */
  begin(request: TelemetryRequest): TelemetrySpan | undefined
}

/** Runs one request to its end under its span. */
export async function followed<T>(
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
