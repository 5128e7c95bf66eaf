export type * from './core/backplane.ts'
export type * from './core/changes.ts'
export type { Asking, Caller, Exchange, InputRequired, Outcome, Peer } from './core/exchange.ts'
export { limits } from './core/limits.ts'
export { ErrorCode, McpError, type McpErrorCode, RpcError } from './jsonrpc/error.ts'
export type * from './jsonrpc/message.ts'
export { readJson } from './jsonrpc/reread.ts'
export type * from './protocol/asking.ts'
export type * from './protocol/capabilities.ts'
export type * from './protocol/content.ts'
export type * from './protocol/definitions.ts'
export {
  checkElicitContent,
  checkElicitSchema,
  checkElicitValue,
  checkSampling,
  choicesOf,
  fillDefaults,
} from './protocol/elicit.ts'
export { loggingLevels, MetaKey, type ProgressToken } from './protocol/meta.ts'
export { type ProtocolVersion, protocolVersions } from './protocol/methods.ts'
export { audio, blob, image } from './server/content.ts'
export type * from './server/context.ts'
export { defineServer } from './server/define.ts'
export * from './server/definitions.ts'
export type { DescribedSchema, SchemaShape } from './server/described.ts'
export { declares, type Extension, type ExtensionMethod, requireExtension } from './server/extension.ts'
export { ask, inputRequired } from './server/input-required.ts'
export { type RateLimit, rateLimit } from './server/rate-limit.ts'
export type { AnySchema, InputOf, OutputOf } from './server/schema.ts'
export type * from './server/server.ts'
export { prompt, resource, template, tool } from './server/tool.ts'
export { parseTemplate, type TemplateVariables, type UriTemplate } from './server/uri-template.ts'
export { type Visible, visibility } from './server/visibility.ts'
