export { createCode } from './code.ts'
export { defaultCalls } from './run.ts'
