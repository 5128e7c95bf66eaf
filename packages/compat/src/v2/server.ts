/** `@modelcontextprotocol/server` 2. */
import { type Uncovered, uncovered } from '../uncovered.ts'

export type {
  RegisteredResource,
  RegisteredResourceTemplate,
  ResourceMetadata,
} from '../server/registered.ts'
export { ResourceTemplate } from '../server/registered.ts'
export { WebStandardStreamableHTTPServerTransport } from '../server/webStandardStreamableHttp.ts'
export { completable, isCompletable } from './completable.ts'
export type { BaseContext, ElicitInputParams, InputRequiredSpec, ServerContext } from './context.ts'
export { acceptedContent, inputRequired } from './context.ts'
export type {
  CreateMcpHandlerOptions,
  McpHandlerRequestOptions,
  McpHttpHandler,
  McpRequestContext,
  McpServerFactory,
  ServerNotifier,
} from './handler.ts'
export { createMcpHandler } from './handler.ts'
export type {
  McpServerOptions,
  PromptCallback,
  ReadResourceCallback,
  ReadResourceTemplateCallback,
  RegisteredPrompt,
  RegisteredTool,
  ToolCallback,
} from './mcp-server.ts'
export { McpServer, Server } from './mcp-server.ts'
export * from './shared.ts'

const keepIt = 'Import it from @modelcontextprotocol/server: it works with authInfo of this package too'
const useHandler = 'Use createMcpHandler, which serves all revisions'
const useErrors = 'Throw ProtocolError with its code'
const useSchemas = 'Use the schemas of @modelcontextprotocol/core'

export const DEFAULT_MAX_REQUEST_BODY_SIZE: Uncovered = uncovered('DEFAULT_MAX_REQUEST_BODY_SIZE', useHandler)
export const InMemoryServerEventBus: Uncovered = uncovered('InMemoryServerEventBus', useHandler)
export const MissingRequiredClientCapabilityError: Uncovered = uncovered(
  'MissingRequiredClientCapabilityError',
  useErrors,
)
export const OAuthError: Uncovered = uncovered('OAuthError', keepIt)
export const OAuthErrorCode: Uncovered = uncovered('OAuthErrorCode', keepIt)
export const PerRequestHTTPServerTransport: Uncovered = uncovered('PerRequestHTTPServerTransport', useHandler)
export const SdkHttpError: Uncovered = uncovered('SdkHttpError', useErrors)
export const UnsupportedProtocolVersionError: Uncovered = uncovered(
  'UnsupportedProtocolVersionError',
  useErrors,
)
export const bearerAuthChallengeResponse: Uncovered = uncovered('bearerAuthChallengeResponse', keepIt)
export const buildOAuthProtectedResourceMetadata: Uncovered = uncovered(
  'buildOAuthProtectedResourceMetadata',
  keepIt,
)
export const checkResourceAllowed: Uncovered = uncovered('checkResourceAllowed', keepIt)
export const classifyInboundRequest: Uncovered = uncovered('classifyInboundRequest', useHandler)
export const createRequestStateCodec: Uncovered = uncovered('createRequestStateCodec', keepIt)
export const getOAuthProtectedResourceMetadataUrl: Uncovered = uncovered(
  'getOAuthProtectedResourceMetadataUrl',
  keepIt,
)
export const hostHeaderValidationResponse: Uncovered = uncovered('hostHeaderValidationResponse', keepIt)
export const inputResponse: Uncovered = uncovered('inputResponse', keepIt)
export const isLegacyRequest: Uncovered = uncovered('isLegacyRequest', useHandler)
export const isSpecType: Uncovered = uncovered('isSpecType', useSchemas)
export const legacyStatelessFallback: Uncovered = uncovered('legacyStatelessFallback', useHandler)
export const localhostAllowedHostnames: Uncovered = uncovered('localhostAllowedHostnames', keepIt)
export const localhostAllowedOrigins: Uncovered = uncovered('localhostAllowedOrigins', keepIt)
export const oauthMetadataResponse: Uncovered = uncovered('oauthMetadataResponse', keepIt)
export const originValidationResponse: Uncovered = uncovered('originValidationResponse', keepIt)
export const preloadSchemas: Uncovered = uncovered('preloadSchemas', useSchemas)
export const readRequestBody: Uncovered = uncovered('readRequestBody', useHandler)
export const requireBearerAuth: Uncovered = uncovered('requireBearerAuth', keepIt)
export const requireScopes: Uncovered = uncovered('requireScopes', keepIt)
export const resourceUrlFromServerUrl: Uncovered = uncovered('resourceUrlFromServerUrl', keepIt)
export const specTypeSchemas: Uncovered = uncovered('specTypeSchemas', useSchemas)
export const validateHostHeader: Uncovered = uncovered('validateHostHeader', keepIt)
export const validateOriginHeader: Uncovered = uncovered('validateOriginHeader', keepIt)
export const verifyBearerToken: Uncovered = uncovered('verifyBearerToken', keepIt)
