export { createCode } from './code.ts'
export { defaultCalls } from './run.ts'
export { commentText, memberName, quoted, schemaType } from './schema-type.ts'
