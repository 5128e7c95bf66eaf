export { memory } from '../transports/client/memory.ts'
export { type Run, runTwice, type Twice, type TwiceOptions } from './run-twice.ts'
