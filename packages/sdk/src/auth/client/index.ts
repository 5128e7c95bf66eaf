export type { HttpAuth, Refusal } from '../../transports/client/http-request.ts'
export type { CredentialStore } from './credential-store.ts'
export { memoryStore } from './credential-store.ts'
export type { ClientAuthMethod, SigningKey } from './identity.ts'
export type {
  ClientCredentialsOptions,
  EnterpriseOptions,
  IdentityProvider,
  MachineClient,
  WorkloadOptions,
} from './machine-grant.ts'
export {
  anyAuthorizationServer,
  clientCredentials,
  enterpriseManaged,
  workloadIdentity,
} from './machine-grant.ts'
export type { AuthFetch, Lookup, NetworkOptions } from './network.ts'
export type { OAuthClient, OAuthOptions, RegisteredClient } from './oauth.ts'
export { oauth } from './oauth.ts'
export type { ManualOptions, Redirect, RedirectSession } from './redirect.ts'
export { manual } from './redirect.ts'
export type { AuthOptions, Authorization } from './session.ts'
export type { Revocation } from './token-endpoint.ts'
