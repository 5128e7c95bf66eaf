/** Constants and small functions of both packages of version 2 of the official SDK. */
import { type JsonSchema, MetaKey } from '@jackfield/sdk'
import { compileSchema } from '@jackfield/sdk/schema'
import {
  type CallToolResult,
  CallToolResultSchema,
  type JSONRPCMessage,
  JSONRPCMessageSchema,
} from '../types.ts'
import type { StandardSchemaWithJSON } from './context.ts'

export const PROTOCOL_VERSION_META_KEY: string = MetaKey.protocolVersion
export const CLIENT_INFO_META_KEY: string = MetaKey.clientInfo
export const CLIENT_CAPABILITIES_META_KEY: string = MetaKey.clientCapabilities
export const LOG_LEVEL_META_KEY: string = MetaKey.logLevel
export const SERVER_INFO_META_KEY: string = MetaKey.serverInfo
export const SUBSCRIPTION_ID_META_KEY: string = MetaKey.subscriptionId
export const TRACEPARENT_META_KEY = 'traceparent'
export const TRACESTATE_META_KEY = 'tracestate'
export const BAGGAGE_META_KEY = 'baggage'
export const PARSE_ERROR: number = -32700
export const INVALID_REQUEST: number = -32600
export const METHOD_NOT_FOUND: number = -32601
export const INVALID_PARAMS: number = -32602
export const INTERNAL_ERROR: number = -32603

export function isCallToolResult(value: unknown): value is CallToolResult {
  return CallToolResultSchema.safeParse(value).success
}

export function parseJSONRPCMessage(value: unknown): JSONRPCMessage {
  return JSONRPCMessageSchema.parse(value)
}

/** Whether a `Content-Type` is JSON. */
export function isJsonContentType(header: string | null | undefined): boolean {
  return header?.split(';')[0]?.trim().toLowerCase() === 'application/json'
}

/** A schema of a tool written as JSON Schema. */
export function fromJsonSchema(schema: JsonSchema): StandardSchemaWithJSON {
  const validator = compileSchema(schema)
  const json = (): JsonSchema => schema
  return {
    '~standard': {
      version: 1,
      vendor: 'json-schema',
      validate: (value) => {
        const why = validator.check(value)
        return why === undefined ? { value } : { issues: [{ message: why }] }
      },
      jsonSchema: { input: json, output: json },
    },
  }
}
