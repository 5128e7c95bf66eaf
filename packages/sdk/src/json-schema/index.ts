export type { Validator } from './compile.ts'
export { type LinearRegex, linearRegex } from './linear-regex.ts'
export type { Issue } from './run.ts'
export { compileSchema, type SchemaOptions } from './schema.ts'
