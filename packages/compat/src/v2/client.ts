/** `@modelcontextprotocol/client` 2. */
import { type Uncovered, uncovered } from '../uncovered.ts'

export { getSupportedElicitationModes } from '../client/index.ts'
export type { SSEClientTransportOptions } from '../client/sse.ts'
export { SSEClientTransport, SseError } from '../client/sse.ts'
export type {
  StreamableHTTPClientTransportOptions,
  StreamableHTTPReconnectionOptions,
} from '../client/streamableHttp.ts'
export { StreamableHTTPClientTransport } from '../client/streamableHttp.ts'
export type { ResourceTemplate } from '../types.ts'
export type { ClientOptions, ServerRequestMap } from './client-class.ts'
export { Client } from './client-class.ts'
export * from './shared.ts'

const useOauth =
  'Use oauth and the other grants of @jackfield/sdk/client/auth with connect of @jackfield/sdk/client'
const useFetch = 'Give the transport a "fetch" of your own'
const useErrors = 'Compare the "code" of ProtocolError and SdkError'
const useSchemas = 'Use the schemas of @modelcontextprotocol/core'
const leaveOut = 'Leave it out'

export const AuthorizationServerMismatchError: Uncovered = uncovered(
  'AuthorizationServerMismatchError',
  useOauth,
)
export const ClientCredentialsProvider: Uncovered = uncovered('ClientCredentialsProvider', useOauth)
export const CrossAppAccessProvider: Uncovered = uncovered('CrossAppAccessProvider', useOauth)
export const DPOP_SUPPORTED_ALGS: Uncovered = uncovered('DPOP_SUPPORTED_ALGS', useOauth)
export const DpopSession: Uncovered = uncovered('DpopSession', useOauth)
export const InMemoryResponseCacheStore: Uncovered = uncovered('InMemoryResponseCacheStore', leaveOut)
export const InsecureTokenEndpointError: Uncovered = uncovered('InsecureTokenEndpointError', useOauth)
export const InsufficientScopeError: Uncovered = uncovered('InsufficientScopeError', useOauth)
export const IssuerMismatchError: Uncovered = uncovered('IssuerMismatchError', useOauth)
export const MAX_CACHE_TTL_MS: Uncovered = uncovered('MAX_CACHE_TTL_MS', leaveOut)
export const MissingRequiredClientCapabilityError: Uncovered = uncovered(
  'MissingRequiredClientCapabilityError',
  useErrors,
)
export const OAuthClientFlowError: Uncovered = uncovered('OAuthClientFlowError', useOauth)
export const OAuthError: Uncovered = uncovered('OAuthError', useOauth)
export const OAuthErrorCode: Uncovered = uncovered('OAuthErrorCode', useOauth)
export const PrivateKeyJwtProvider: Uncovered = uncovered('PrivateKeyJwtProvider', useOauth)
export const RegistrationRejectedError: Uncovered = uncovered('RegistrationRejectedError', useOauth)
export const SdkHttpError: Uncovered = uncovered('SdkHttpError', useErrors)
export const StaticPrivateKeyJwtProvider: Uncovered = uncovered('StaticPrivateKeyJwtProvider', useOauth)
export const UnauthorizedError: Uncovered = uncovered('UnauthorizedError', useOauth)
export const UnsupportedProtocolVersionError: Uncovered = uncovered(
  'UnsupportedProtocolVersionError',
  useErrors,
)
export const accessTokenHash: Uncovered = uncovered('accessTokenHash', useOauth)
export const applyMiddlewares: Uncovered = uncovered('applyMiddlewares', useFetch)
export const assertSecureTokenEndpoint: Uncovered = uncovered('assertSecureTokenEndpoint', useOauth)
export const auth: Uncovered = uncovered('auth', useOauth)
export const buildDiscoveryUrls: Uncovered = uncovered('buildDiscoveryUrls', useOauth)
export const checkResourceAllowed: Uncovered = uncovered('checkResourceAllowed', useOauth)
export const computeScopeUnion: Uncovered = uncovered('computeScopeUnion', useOauth)
export const createMiddleware: Uncovered = uncovered('createMiddleware', useFetch)
export const createPrivateKeyJwtAuth: Uncovered = uncovered('createPrivateKeyJwtAuth', useOauth)
export const discoverAndRequestJwtAuthGrant: Uncovered = uncovered('discoverAndRequestJwtAuthGrant', useOauth)
export const discoverAuthorizationServerMetadata: Uncovered = uncovered(
  'discoverAuthorizationServerMetadata',
  useOauth,
)
export const discoverOAuthMetadata: Uncovered = uncovered('discoverOAuthMetadata', useOauth)
export const discoverOAuthProtectedResourceMetadata: Uncovered = uncovered(
  'discoverOAuthProtectedResourceMetadata',
  useOauth,
)
export const discoverOAuthServerInfo: Uncovered = uncovered('discoverOAuthServerInfo', useOauth)
export const exchangeAuthorization: Uncovered = uncovered('exchangeAuthorization', useOauth)
export const exchangeJwtAuthGrant: Uncovered = uncovered('exchangeJwtAuthGrant', useOauth)
export const extractResourceMetadataUrl: Uncovered = uncovered('extractResourceMetadataUrl', useOauth)
export const extractWWWAuthenticateParams: Uncovered = uncovered('extractWWWAuthenticateParams', useOauth)
export const fetchToken: Uncovered = uncovered('fetchToken', useOauth)
export const generateDpopKeyPair: Uncovered = uncovered('generateDpopKeyPair', useOauth)
export const isDpopNonceChallenge: Uncovered = uncovered('isDpopNonceChallenge', useOauth)
export const isHttpsUrl: Uncovered = uncovered('isHttpsUrl', useOauth)
export const isSpecType: Uncovered = uncovered('isSpecType', useSchemas)
export const isStrictScopeSuperset: Uncovered = uncovered('isStrictScopeSuperset', useOauth)
export const parseErrorResponse: Uncovered = uncovered('parseErrorResponse', useOauth)
export const preloadSchemas: Uncovered = uncovered('preloadSchemas', useSchemas)
export const prepareAuthorizationCodeRequest: Uncovered = uncovered(
  'prepareAuthorizationCodeRequest',
  useOauth,
)
export const refreshAuthorization: Uncovered = uncovered('refreshAuthorization', useOauth)
export const registerClient: Uncovered = uncovered('registerClient', useOauth)
export const requestJwtAuthorizationGrant: Uncovered = uncovered('requestJwtAuthorizationGrant', useOauth)
export const resolveClientMetadata: Uncovered = uncovered('resolveClientMetadata', useOauth)
export const resourceUrlFromServerUrl: Uncovered = uncovered('resourceUrlFromServerUrl', useOauth)
export const selectClientAuthMethod: Uncovered = uncovered('selectClientAuthMethod', useOauth)
export const selectResourceURL: Uncovered = uncovered('selectResourceURL', useOauth)
export const specTypeSchemas: Uncovered = uncovered('specTypeSchemas', useSchemas)
export const startAuthorization: Uncovered = uncovered('startAuthorization', useOauth)
export const validateAuthorizationResponseIssuer: Uncovered = uncovered(
  'validateAuthorizationResponseIssuer',
  useOauth,
)
export const validateClientMetadataUrl: Uncovered = uncovered('validateClientMetadataUrl', useOauth)
export const withDpop: Uncovered = uncovered('withDpop', useOauth)
export const withDpopFromProvider: Uncovered = uncovered('withDpopFromProvider', useOauth)
export const withInputRequired: Uncovered = uncovered('withInputRequired', leaveOut)
export const withLogging: Uncovered = uncovered('withLogging', useFetch)
export const withOAuth: Uncovered = uncovered('withOAuth', useOauth)
