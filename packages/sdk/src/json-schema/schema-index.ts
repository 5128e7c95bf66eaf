import { McpError } from '../jsonrpc/error.ts'
import { isObject } from '../jsonrpc/parse.ts'
import { invalid, type Resource } from './validation-run.ts'

export type Dialect = '2020-12' | 'draft-07'

const dialects: ReadonlyMap<string, Dialect> = new Map([
  ['https://json-schema.org/draft/2020-12/schema', '2020-12'],
  ['http://json-schema.org/draft-07/schema', 'draft-07'],
  ['https://json-schema.org/draft-07/schema', 'draft-07'],
])

/** The dialect of a `$schema`, or undefined if it is not supported. */
export function dialectNamed(uri: unknown): Dialect | undefined {
  return typeof uri === 'string' ? dialects.get(uri.replace(/#$/, '')) : undefined
}

export interface SchemaLocation {
  readonly pointer: string
  readonly dialect: Dialect
  readonly resource: Resource
  readonly depth: number
}

const maxDepth = 32
const maxSubschemas = 2000
const maxIdChars = 8192

const schemaKeywords = [
  'additionalItems',
  'additionalProperties',
  'contains',
  'else',
  'if',
  'items',
  'not',
  'propertyNames',
  'then',
  'unevaluatedItems',
  'unevaluatedProperties',
]
const schemaListKeywords = ['allOf', 'anyOf', 'items', 'oneOf', 'prefixItems']
const schemaMapKeywords = [
  '$defs',
  'definitions',
  'dependencies',
  'dependentSchemas',
  'patternProperties',
  'properties',
]

/** The locations of all subschemas of a schema, with their URIs and anchors. */
export class SchemaIndex {
  readonly root: SchemaLocation
  hasDynamicAnchors = false
  readonly #locations = new Map<object, SchemaLocation>()
  readonly #resources = new Map<string, Resource>()

  /** @throws McpError 'INVALID' for a schema that is too large, or has duplicate ids or anchors */
  constructor(schema: object) {
    const resource = this.#resource('schema:///root', schema)
    this.root = { pointer: '', dialect: '2020-12', resource, depth: 0 }
    this.#scan(schema, this.root)
    this.root = this.#locations.get(schema) ?? this.root
  }

  resources(): Iterable<Resource> {
    return this.#resources.values()
  }

  /** The location of a subschema; one outside of keywords for subschemas is indexed now. */
  get(schema: object, parent: SchemaLocation): SchemaLocation {
    if (!this.#locations.has(schema)) this.#scan(schema, { ...parent, depth: parent.depth + 1 })
    return this.#locations.get(schema) ?? parent
  }

  /** Resolves a reference. @throws McpError 'INVALID' for one outside of the schema */
  resolve(to: string, from: SchemaLocation, keyword: string): { schema: unknown; location: SchemaLocation } {
    const absolute = this.#absolute(to, from, keyword)
    const [uri = '', fragment = ''] = absolute.split('#')
    const resource = this.#resources.get(uri)
    if (resource === undefined) {
      throw invalid(
        from.pointer,
        keyword,
        `refers to ${JSON.stringify(to)}, which is not within the schema. Other schemas are never fetched; put the definition under "$defs"`,
      )
    }
    const location = this.#locations.get(resource.schema) ?? from
    if (fragment === '') return { schema: resource.schema, location }
    const target = fragment.startsWith('/')
      ? this.#walk(fragment, resource.schema, location)
      : { schema: resource.anchors.get(decoded(fragment)), location }
    if (target.schema === undefined) {
      throw invalid(from.pointer, keyword, `refers to ${JSON.stringify(to)}, which does not exist`)
    }
    return target
  }

  #walk(
    pointer: string,
    start: object,
    location: SchemaLocation,
  ): { schema: unknown; location: SchemaLocation } {
    let schema: unknown = start
    let nearest = location
    for (const part of pointer.slice(1).split('/')) {
      const key = decoded(part).replaceAll('~1', '/').replaceAll('~0', '~')
      if (typeof schema !== 'object' || schema === null || !Object.hasOwn(schema, key)) {
        return { schema: undefined, location: nearest }
      }
      schema = Object.getOwnPropertyDescriptor(schema, key)?.value
      if (typeof schema === 'object' && schema !== null) nearest = this.#locations.get(schema) ?? nearest
    }
    return { schema, location: nearest }
  }

  #scan(schema: unknown, around: SchemaLocation): void {
    if (!isObject(schema) || this.#locations.has(schema)) return
    if (around.depth > maxDepth) throw invalid(around.pointer, '', `nests deeper than ${maxDepth} subschemas`)
    if (this.#locations.size >= maxSubschemas) {
      throw new McpError('INVALID', `The schema is not valid: it has more than ${maxSubschemas} subschemas`)
    }
    const location = this.#locationOf(schema, around)
    this.#locations.set(schema, location)
    for (const keyword of schemaKeywords) this.#child(schema[keyword], location, `/${keyword}`)
    for (const keyword of schemaListKeywords) {
      const items = schema[keyword]
      if (!Array.isArray(items)) continue
      for (const [index, item] of items.entries()) this.#child(item, location, `/${keyword}/${index}`)
    }
    for (const keyword of schemaMapKeywords) {
      const members = schema[keyword]
      if (!isObject(members)) continue
      for (const [name, member] of Object.entries(members))
        this.#child(member, location, `/${keyword}/${name}`)
    }
  }

  #child(schema: unknown, parent: SchemaLocation, step: string): void {
    this.#scan(schema, { ...parent, pointer: parent.pointer + step, depth: parent.depth + 1 })
  }

  /** Indexes a subschema's `$schema`, `$id` and anchors. */
  #locationOf(schema: Record<string, unknown>, around: SchemaLocation): SchemaLocation {
    const { $schema, $id, $anchor, $dynamicAnchor } = schema
    let location = around
    if ($schema !== undefined) location = { ...location, dialect: dialectOf($schema, location) }
    if (location.dialect === 'draft-07' && schema['$ref'] !== undefined) return location
    if ($id !== undefined) {
      if (typeof $id !== 'string') throw invalid(location.pointer, '$id', 'must be a string')
      if ($id.length > maxIdChars)
        throw invalid(location.pointer, '$id', `must have at most ${maxIdChars} characters`)
      if (location.dialect === 'draft-07' && $id.startsWith('#')) {
        this.#anchor(location, $id.slice(1), schema)
      } else {
        const [uri = ''] = this.#absolute($id, location, '$id').split('#')
        location = { ...location, resource: this.#resource(uri, schema) }
      }
    }
    if (location.dialect === 'draft-07') return location
    if (typeof $anchor === 'string') this.#anchor(location, $anchor, schema)
    if (typeof $dynamicAnchor === 'string') {
      this.#anchor(location, $dynamicAnchor, schema)
      location.resource.dynamicAnchors.set($dynamicAnchor, schema)
      this.hasDynamicAnchors = true
    }
    return location
  }

  #resource(uri: string, schema: object): Resource {
    const known = this.#resources.get(uri)
    if (known !== undefined && known.schema !== schema) {
      throw new McpError('INVALID', `The schema is not valid: it has the "$id" "${uri}" twice`)
    }
    const resource = {
      uri,
      schema,
      anchors: new Map<string, object>(),
      dynamicAnchors: new Map<string, object>(),
    }
    this.#resources.set(uri, resource)
    return resource
  }

  #anchor(location: SchemaLocation, name: string, schema: object): void {
    const known = location.resource.anchors.get(name)
    if (known !== undefined && known !== schema) {
      throw invalid(location.pointer, '', `has the anchor "${name}", which another subschema has too`)
    }
    location.resource.anchors.set(name, schema)
  }

  #absolute(uri: string, from: SchemaLocation, keyword: string): string {
    try {
      return new URL(uri, from.resource.uri).href
    } catch {
      throw invalid(from.pointer, keyword, 'must be a URI')
    }
  }
}

function dialectOf(uri: unknown, location: SchemaLocation): Dialect {
  const dialect = dialectNamed(uri)
  if (dialect !== undefined) return dialect
  throw invalid(
    location.pointer,
    '$schema',
    `names a dialect that is not supported: ${JSON.stringify(uri)}. Use JSON Schema 2020-12 or draft-07`,
  )
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
