export { compileSchema } from '../validate/index.ts'
