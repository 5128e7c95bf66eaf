/** Dialects of JSON Schema this validator speaks. */
export type Dialect = '2020-12' | 'draft-07'

const dialects: ReadonlyMap<string, Dialect> = new Map([
  ['https://json-schema.org/draft/2020-12/schema', '2020-12'],
  ['http://json-schema.org/draft-07/schema', 'draft-07'],
  ['https://json-schema.org/draft-07/schema', 'draft-07'],
])

/** The dialect a `$schema` names, or undefined for one that is not supported. */
export function dialectNamed(uri: unknown): Dialect | undefined {
  return typeof uri === 'string' ? dialects.get(uri.replace(/#$/, '')) : undefined
}
