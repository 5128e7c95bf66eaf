import { readFileSync } from 'node:fs'
import type { ProtocolVersion } from '@jackfield/sdk'
import { Ajv, type ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { isObject } from '../../../../test/setup/json.ts'

/** Who sent a message. */
export type Sender = 'client' | 'server'

interface Definition {
  anyOf?: { $ref?: string }[]
  properties?: Record<string, { const?: unknown }>
}

/** The official JSON Schema of one revision, with its definitions found by method, code and name. */
interface WireSchema {
  version: ProtocolVersion
  definitions: Record<string, Definition>
  /** The validator of one definition. */
  validator(name: string): ValidateFunction
  /** Definition of a request or notification by its method: `tools/call` is `CallToolRequest`. */
  byMethod: ReadonlyMap<string, string>
  /** Definition of an error response by its code, where the revision defines one. */
  byCode: ReadonlyMap<number, string>
}

const schemas = new Map<ProtocolVersion, WireSchema>()

/**
 * What is wrong with one JSON-RPC message under the official schema of a revision: nothing is an empty list.
 * Requests and notifications are checked against the definition of their method, and that their sender may send
 * them; results against the result that belongs to `requestMethod`; errors against the definition of their code.
 */
export function checkWire(
  revision: ProtocolVersion,
  sender: Sender,
  message: unknown,
  requestMethod?: string,
): string[] {
  const schema = schemaOf(revision)
  if (Array.isArray(message)) {
    return revision === '2025-03-26'
      ? message.flatMap((part, at) =>
          checkWire(revision, sender, part, requestMethod).map((fault) => `[${at}]${fault}`),
        )
      : [`${revision} has no batches`]
  }
  const faults = check(schema, 'JSONRPCMessage', message)
  if (faults.length > 0 || !isObject(message)) return faults
  if (typeof message['method'] === 'string') return checkCall(schema, sender, message, message['method'])
  if ('error' in message) return checkError(schema, message)
  return requestMethod === undefined ? [] : checkResult(schema, sender, message['result'], requestMethod)
}

/** What is wrong with a value under one definition of a revision's schema, `Tool` for example. */
export function checkDefinition(revision: ProtocolVersion, name: string, value: unknown): string[] {
  return check(schemaOf(revision), name, value)
}

/** What the official schema calls a method's message: `tools/call` is `CallToolRequest`. */
export function definitionName(revision: ProtocolVersion, method: string): string | undefined {
  return schemaOf(revision).byMethod.get(method)
}

function checkCall(
  schema: WireSchema,
  sender: Sender,
  message: Record<string, unknown>,
  method: string,
): string[] {
  const name = schema.byMethod.get(method)
  if (name === undefined) return [`${schema.version} has no method ${method}`]
  const kind = 'id' in message ? 'Request' : 'Notification'
  if (!name.endsWith(kind)) return [`${method} is not sent as a ${kind.toLowerCase()}`]
  const allowed = members(schema, `${sender === 'client' ? 'Client' : 'Server'}${kind}`)
  if (!allowed.includes(name)) return [`a ${sender} of ${schema.version} does not send ${method}`]
  return check(schema, name, message)
}

function checkError(schema: WireSchema, message: Record<string, unknown>): string[] {
  const error = message['error']
  const code = isObject(error) ? error['code'] : undefined
  const name = typeof code === 'number' ? schema.byCode.get(code) : undefined
  if (name === undefined) return []
  const whole = schema.definitions[name]?.properties?.['error'] !== undefined
  return check(schema, name, whole ? message : error)
}

function checkResult(schema: WireSchema, sender: Sender, result: unknown, requestMethod: string): string[] {
  const request = schema.byMethod.get(requestMethod)
  if (request === undefined) return [`${schema.version} has no method ${requestMethod}`]
  const asked = members(schema, `${sender === 'client' ? 'Server' : 'Client'}Request`)
  if (!asked.includes(request)) return [`a ${sender} of ${schema.version} does not answer ${requestMethod}`]
  if (isObject(result) && result['resultType'] === 'input_required')
    return checkQuestions(schema, result, request)
  const name = request.replace(/Request$/, 'Result')
  return check(schema, name in schema.definitions ? name : 'EmptyResult', result)
}

function checkQuestions(schema: WireSchema, result: Record<string, unknown>, request: string): string[] {
  const mayAsk =
    schema.definitions[`${request.replace(/Request$/, '')}ResultResponse`]?.properties?.['result']
  if (!JSON.stringify(mayAsk ?? {}).includes('/InputRequiredResult"')) {
    return [`${request} of ${schema.version} is not answered with input_required`]
  }
  const faults = check(schema, 'InputRequiredResult', result)
  if (result['inputRequests'] === undefined && result['requestState'] === undefined) {
    faults.push(' carries neither inputRequests nor requestState')
  }
  return faults
}

function check(schema: WireSchema, name: string, value: unknown): string[] {
  const validate = schema.validator(name)
  if (validate(value)) return []
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) =>
      `${instancePath} ${message ?? 'is not valid'} (${name} ${JSON.stringify(params)})`,
  )
}

function members(schema: WireSchema, union: string): string[] {
  const definition = schema.definitions[union]
  if (definition === undefined) return []
  if (definition.anyOf === undefined) {
    const method = definition.properties?.['method']?.const
    const name = typeof method === 'string' ? schema.byMethod.get(method) : undefined
    return name === undefined ? [] : [name]
  }
  return definition.anyOf.map(({ $ref }) => $ref?.split('/').at(-1) ?? '')
}

function schemaOf(version: ProtocolVersion): WireSchema {
  const known = schemas.get(version)
  if (known !== undefined) return known
  const text = readFileSync(new URL(`./${version}.json`, import.meta.url), 'utf8')
  const document = JSON.parse(text, (name, value) => (name === 'ElicitResult' ? withFractions(value) : value))
  const place = 'definitions' in document ? 'definitions' : '$defs'
  const definitions: Record<string, Definition> = document[place]
  // Most validators are used a few times: compiling them costs more than faster code saves.
  const options = { strict: false, allErrors: true, inlineRefs: false, code: { optimize: false } }
  const ajv = String(document.$schema).includes('2020-12') ? new Ajv2020(options) : new Ajv(options)
  addFormats.default(ajv)
  ajv.addFormat('uri-template', true)
  ajv.addSchema(document, version)
  const schema: WireSchema = {
    version,
    definitions,
    validator(name) {
      const validate = ajv.getSchema(`${version}#/${place}/${name}`)
      if (validate === undefined) throw new Error(`${version} defines no ${name}`)
      return validate
    },
    byMethod: new Map(
      Object.entries(definitions).flatMap(([name, { properties }]) => {
        const method = properties?.['method']?.const
        const whole = name.endsWith('Request') || name.endsWith('Notification')
        const union = name === 'ClientNotification'
        return typeof method === 'string' && whole && !union ? [[method, name] as const] : []
      }),
    ),
    byCode: new Map(Object.entries(definitions).flatMap(([name, it]) => codesOf(name, it))),
  }
  schemas.set(version, schema)
  return schema
}

/** The official files say `integer` where the specification's own types say `number`: a person may answer 95.5. */
function withFractions(definition: unknown): unknown {
  return JSON.parse(JSON.stringify(definition).replaceAll('"integer"', '"number"'))
}

function codesOf(name: string, definition: Definition): [number, string][] {
  if (!name.endsWith('Error')) return []
  const code = /"code":\{"const":(-\d+)/.exec(JSON.stringify(definition))?.[1]
  return code === undefined ? [] : [[Number(code), name]]
}
