export { type LinearRegex, linearRegex } from './linear-regex.ts'
export { dialectNamed } from './places.ts'
export type { Issue } from './run.ts'
export { compileSchema, type SchemaOptions, type Validator } from './schema.ts'
