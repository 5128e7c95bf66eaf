import { defineServer, tool } from '@jackfield/sdk'
import { connect } from '@jackfield/sdk/client'
import { telemetry } from '@jackfield/sdk/telemetry'
import { context, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { BasicTracerProvider, ConsoleSpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'

// What a program does once. A propagator registered besides carries the trace to servers elsewhere.
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
trace.setGlobalTracerProvider(
  new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(new ConsoleSpanExporter())] }),
)

const server = defineServer({
  name: 'clock',
  version: '1.0.0',
  use: [telemetry()],
  tools: { now: tool({ run: () => new Date().toISOString() }) },
})
await using clock = await connect(server, { telemetry: telemetry() })
await clock.call('now')
