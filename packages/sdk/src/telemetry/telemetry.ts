import type { ClientTelemetry } from '../client/telemetry.ts'
import type { Middleware } from '../server/server.ts'
import { clientSide } from './client.ts'
import { Recorder, type TelemetryOptions } from './recorder.ts'
import { serverLayer } from './server.ts'

/** Both sides in one: a layer for `use` of `defineServer`, and the option `telemetry` of `connect`. */
export type Telemetry = Middleware & ClientTelemetry

/**
 * Traces and measures by OpenTelemetry, with the semantic conventions for MCP. Trace context travels in `_meta` as
 * `traceparent`, `tracestate` and `baggage`, by the propagator that is registered. Put it first in `use`.
 *
 * A client's call is one span, with what it is asked back inside of it; each request a server serves is one, a part of
 * the client's. A round that ends with questions is told apart by `jackfield.result.type`. Arguments and results are not
 * recorded, and neither are sessions' ids; the names of tools and prompts are, and the URIs of resources.
 * @see https://opentelemetry.io/docs/specs/semconv/gen-ai/mcp/
 */
export function telemetry(options: TelemetryOptions = {}): Telemetry {
  const recorder = new Recorder(options)
  return Object.assign(serverLayer(recorder), clientSide(recorder))
}
