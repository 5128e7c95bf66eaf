/** `server/zod-compat.js` of the official SDK 1, whose types frameworks use for schemas of Zod 3 and Zod 4. */
export type {
  AnyObjectSchema,
  AnySchema,
  SchemaInput,
  SchemaOutput,
  ShapeOutput,
  ZodRawShapeCompat,
} from './schemas.ts'
export {
  getLiteralValue,
  getObjectShape,
  getParseErrorMessage,
  getSchemaDescription,
  isSchemaOptional,
  isZ4Schema,
  normalizeObjectSchema,
  objectFromShape,
  safeParse,
  safeParseAsync,
} from './schemas.ts'
