export { type LiveRequest, liveInput, noInput } from './live-run.ts'
export { type ReplayOptions, replay } from './replay.ts'
