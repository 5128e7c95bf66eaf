export { compileSchema } from '../validate/schema.ts'
