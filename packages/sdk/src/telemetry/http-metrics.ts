import { type Attributes, type Meter, metrics, type Observable } from '@opentelemetry/api'
import type { HttpObserver, HttpServerEvent, HttpServerLoad } from '../transports/server/http/observer.ts'
import { clientFailure, scope } from './recorder.ts'

/** Options of `httpMetrics`. */
export interface HttpMetricsOptions {
  /** Records the measurements. Default: that of the registered meter provider. */
  meter?: Meter
  /** Attributes of every measurement, such as the name of a server if a process has several. Default: none. */
  attributes?: Attributes
}

/** Histogram boundaries in seconds: operations of a store take from a tenth of a millisecond to its timeout. */
const operationBuckets = [0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1, 5]
/** Sessions take from a second to a day. */
const sessionBuckets = [1, 10, 60, 300, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400]

/**
 * OpenTelemetry metrics of one node, for the option `observer` of `serveHttp`: sessions, streams, calls, streams resumed from
 * other nodes, and operations of the backplane. Names are those of the semantic conventions where these have one; docs/guide/scale-out.md
 * lists them. Session ids, principals and keys are not recorded.
 */
export function httpMetrics(options: HttpMetricsOptions = {}): HttpObserver {
  const { meter = metrics.getMeter(scope), attributes: common = {} } = options
  const mounted = new Set<() => HttpServerLoad>()
  const sum = (of: (load: HttpServerLoad) => number): number =>
    [...mounted].reduce((total, load) => total + of(load()), 0)

  const sessions = meter.createObservableUpDownCounter('jackfield.server.sessions', {
    unit: '{session}',
    description: 'Sessions that this process knows',
  })
  const streams = meter.createObservableUpDownCounter('jackfield.server.streams', {
    unit: '{stream}',
    description: 'Open event streams',
  })
  const calls = meter.createObservableUpDownCounter('jackfield.server.calls', {
    unit: '{request}',
    description: 'Requests in flight, by whether their handlers run or wait for the client',
  })
  const leaseAge = meter.createObservableGauge('jackfield.server.lease.age', {
    unit: 's',
    description: 'Time since this node last renewed its lease',
  })
  meter.addBatchObservableCallback(
    (result) => {
      const observe = (counter: Observable, of: (load: HttpServerLoad) => number, more?: Attributes): void =>
        result.observe(counter, sum(of), { ...common, ...more })
      observe(sessions, (load) => load.sessions)
      for (const kind of ['session', 'subscription'] as const) {
        observe(streams, (load) => load.streams[kind], { 'jackfield.stream.kind': kind })
      }
      for (const state of ['running', 'waiting'] as const) {
        observe(calls, (load) => load.calls[state], { 'jackfield.call.state': state })
      }
      const ages = [...mounted].flatMap((load) => load().leaseAgeMs ?? [])
      if (ages.length > 0) result.observe(leaseAge, Math.max(...ages) / 1000, common)
    },
    [sessions, streams, calls, leaseAge],
  )

  const begun = meter.createCounter('jackfield.server.sessions.begun', {
    unit: '{session}',
    description: 'Sessions that began in this process',
  })
  const sessionDuration = meter.createHistogram('mcp.server.session.duration', {
    unit: 's',
    description: 'The duration of a session that began in this process, until it ended',
    advice: { explicitBucketBoundaries: sessionBuckets },
  })
  const takeovers = meter.createCounter('jackfield.server.takeovers', {
    unit: '{stream}',
    description: 'Streams of other nodes that a client resumed here, by what followed',
  })
  const answers = meter.createCounter('jackfield.server.answers', {
    unit: '{response}',
    description: 'Responses of clients, by whether they arrived on the node that asked',
  })
  const refused = meter.createCounter('jackfield.server.writes.refused', {
    unit: '{write}',
    description: 'Writes to the backplane that came after another one',
  })
  const missed = meter.createCounter('jackfield.server.wakes.missed', {
    unit: '{message}',
    description: 'Messages between nodes that were lost and replaced by reading the store',
  })
  const operations = meter.createHistogram('jackfield.backplane.operation.duration', {
    unit: 's',
    description: 'The duration of an operation of the backplane',
    advice: { explicitBucketBoundaries: operationBuckets },
  })

  const record = (event: HttpServerEvent): void => {
    switch (event.type) {
      case 'sessionBegun':
        begun.add(1, common)
        return
      case 'sessionEnded':
        sessionDuration.record(event.durationMs / 1000, common)
        return
      case 'takeover':
        takeovers.add(1, { ...common, 'jackfield.takeover.outcome': event.outcome })
        return
      case 'answer':
        answers.add(1, { ...common, 'jackfield.answer.arrived': event.arrived })
        return
      case 'writeRefused':
        refused.add(1, { ...common, 'jackfield.write.kind': event.what })
        return
      case 'wakeMissed':
        missed.add(1, common)
        return
      case 'backplane': {
        const attributes: Attributes = { ...common, 'jackfield.backplane.operation': event.operation }
        if (event.error !== undefined) attributes['error.type'] = clientFailure(event.error).type
        operations.record(event.durationMs / 1000, attributes)
      }
    }
  }
  return {
    start(load) {
      mounted.add(load)
      return () => mounted.delete(load)
    },
    event: record,
  }
}
