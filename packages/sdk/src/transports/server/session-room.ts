export { serveBatch } from './batch.ts'
export { Session } from './session.ts'
