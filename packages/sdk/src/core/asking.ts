export { type LiveRequest, live, none } from './live.ts'
export { type ReplayOptions, replay } from './replay.ts'
