export { type HttpMetricsOptions, httpMetrics } from './http-metrics.ts'
export type { TelemetryOptions } from './recorder.ts'
export { type Telemetry, telemetry } from './telemetry.ts'
