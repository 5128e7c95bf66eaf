export { ErrorCode, McpError, type McpErrorCode, RpcError } from './jsonrpc/error.ts'
export type * from './jsonrpc/message.ts'
export type {
  Annotations,
  AudioContent,
  BlobResourceContents,
  ContentBlock,
  EmbeddedResource,
  Icon,
  ImageContent,
  ResourceContents,
  ResourceLink,
  Role,
  SamplingContent,
  TextContent,
  TextResourceContents,
  ToolResultContent,
  ToolUseContent,
} from './protocol/content.ts'
export type * from './protocol/definitions.ts'
export { loggingLevels, MetaKey, type ProgressToken } from './protocol/meta.ts'
export { type ProtocolVersion, protocolVersions } from './protocol/methods.ts'
export type * from './protocol/server-requests.ts'
export type { Backplane, TokenBucket } from './request/backplane.ts'
export type { Change, ChangeSubscription, Changes, Subscriber } from './request/changes.ts'
export type { Caller, Exchange, InputRequired, InputStrategy, Outcome, Peer } from './request/exchange.ts'
export { limits } from './request/limits.ts'
export { audio, blob, image } from './server/content.ts'
export type {
  Completer,
  CompletionContext,
  Context,
  ElicitContent,
  Elicited,
  ElicitForm,
  FormSchema,
  InputKind,
  RequestTransport,
  StepWork,
} from './server/context.ts'
export { defineServer, prompt, resource, template, tool } from './server/define.ts'
export {
  type Described,
  type Literal,
  type PromptDefinition,
  type PromptReturn,
  type ReadReply,
  type ReadReturn,
  Reply,
  type ReplyParts,
  type ResourceDefinition,
  reply,
  type SchemaOrNone,
  type Takeover,
  type TemplateDefinition,
  type ToolDefinition,
  ToolError,
  type ToolReturn,
} from './server/definitions.ts'
export { declares, type Extension, type ExtensionMethod, requireExtension } from './server/extension.ts'
export { ask, inputRequired } from './server/form.ts'
export { type RateLimit, rateLimit } from './server/rate-limit.ts'
export type { AnySchema, DescribedSchema, InputOf, OutputOf, SchemaShape } from './server/schema.ts'
export type {
  AnyPrompt,
  AnyTemplate,
  AnyTool,
  Definitions,
  Middleware,
  PromptValue,
  ResourceValue,
  Server,
  ServerOptions,
  TemplateValue,
  ToolValue,
} from './server/server.ts'
export { parseTemplate, type TemplateVariables, type UriTemplate } from './server/uri-template.ts'
export { type Visible, visibility } from './server/visibility.ts'
