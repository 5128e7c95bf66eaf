export { createCode } from './code.ts'
