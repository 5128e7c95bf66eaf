import {
  type Context,
  propagation,
  type SpanContext,
  type TextMapGetter,
  type TextMapSetter,
  trace,
} from '@opentelemetry/api'
import type { JsonObject } from '../jsonrpc/message.ts'

/** The keys of `_meta` that carry trace context; no other key may stand there without a prefix. */
const keys: ReadonlySet<string> = new Set(['traceparent', 'tracestate', 'baggage'])

/** Characters of one value; a longer one is not read. */
const maxChars = 8192

const setter: TextMapSetter<Record<string, string>> = {
  set(carrier, key, value) {
    if (keys.has(key)) carrier[key] = value
  },
}

const getter: TextMapGetter<Readonly<JsonObject>> = {
  keys: (carrier) => Object.keys(carrier).filter((key) => keys.has(key)),
  get(carrier, key) {
    const value = keys.has(key) ? carrier[key] : undefined
    return typeof value === 'string' && value.length <= maxChars ? value : undefined
  },
}

/** What to write into `_meta` so that the other side goes on with this context. */
export function injected(context: Context): JsonObject {
  const carrier: Record<string, string> = {}
  propagation.inject(context, carrier, setter)
  return carrier
}

/** A context with what a peer's `_meta` carries. */
export function extracted(context: Context, meta: Readonly<JsonObject>): Context {
  return propagation.extract(context, meta, getter)
}

/** The span a context stands in, where it can be pointed at. */
export function spanIn(context: Context): SpanContext | undefined {
  const found = trace.getSpanContext(context)
  return found !== undefined && trace.isSpanContextValid(found) ? found : undefined
}
