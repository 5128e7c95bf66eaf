export { compileSchema } from '../json-schema/schema.ts'
