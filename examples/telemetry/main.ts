import { deepEqual } from 'node:assert/strict'
import { defineServer, tool } from '@jackfield/sdk'
import { connect } from '@jackfield/sdk/client'
import { telemetry } from '@jackfield/sdk/telemetry'
import { context, propagation, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'

// The OpenTelemetry setup of a program. A real one has an exporter that sends the spans to a collector.
const exporter = new InMemorySpanExporter()
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
propagation.setGlobalPropagator(new W3CTraceContextPropagator())
trace.setGlobalTracerProvider(
  new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }),
)

const server = defineServer({
  name: 'clock',
  version: '1.0.0',
  use: [telemetry()],
  tools: { now: tool({ run: () => new Date().toISOString() }) },
})
const clock = await connect(server, { telemetry: telemetry() })
await clock.call('now')
await clock.close()

const [served, called] = exporter.getFinishedSpans().filter(({ name }) => name === 'tools/call now')
deepEqual(served?.parentSpanContext?.spanId, called?.spanContext().spanId)
deepEqual(served?.spanContext().traceId, called?.spanContext().traceId)
console.log('The call and its serving are one trace.')
