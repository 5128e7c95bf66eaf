export type { TelemetryOptions } from './recorder.ts'
export { type Telemetry, telemetry } from './telemetry.ts'
