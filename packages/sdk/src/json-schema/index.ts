export type { Validator } from './compile.ts'
export { compileSchema, type SchemaOptions } from './compile-schema.ts'
export { type LinearRegex, linearRegex } from './linear-regex.ts'
export type { Issue } from './validation-run.ts'
