import { context, propagation, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator } from '@opentelemetry/core'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'

/** A span as tests look at it, and as it travels from another process. */
export interface Seen {
  readonly name: string
  readonly kind: number
  readonly trace: string
  readonly id: string
  readonly parent: string | undefined
  readonly links: readonly string[]
  readonly status: number
  readonly message: string | undefined
  readonly attributes: Readonly<Record<string, unknown>>
}

const exporter = new InMemorySpanExporter()

/** Registers all of OpenTelemetry that a program would, and gives what was recorded. */
export function startTracing(): void {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  propagation.setGlobalPropagator(
    new CompositePropagator({ propagators: [new W3CTraceContextPropagator(), new W3CBaggagePropagator()] }),
  )
  trace.setGlobalTracerProvider(
    new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }),
  )
}

/** Every span that ended since this was last called. */
export function takeSpans(): Seen[] {
  const spans = exporter.getFinishedSpans().map(seen)
  exporter.reset()
  return spans
}

/** Runs something inside a span of the program's own. */
export function within<T>(name: string, work: () => Promise<T>): Promise<T> {
  return trace.getTracer('program').startActiveSpan(name, (span) => work().finally(() => span.end()))
}

function seen(span: ReadableSpan): Seen {
  const { traceId, spanId } = span.spanContext()
  return {
    name: span.name,
    kind: span.kind,
    trace: traceId,
    id: spanId,
    parent: span.parentSpanContext?.spanId,
    links: span.links.map(({ context: { spanId } }) => spanId),
    status: span.status.code,
    message: span.status.message,
    attributes: { ...span.attributes },
  }
}
