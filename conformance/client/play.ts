import type { JsonObject } from '@jackfield/sdk'
import type { ConnectOptions } from '@jackfield/sdk/client'

/** What a scenario hands to its client besides a URL. */
export interface ScenarioContext {
  toolCalls?: { name: string; arguments?: JsonObject }[]
  issuer?: string
  client_id?: string
  client_secret?: string
  private_key_pem?: string
  signing_algorithm?: string
  idp_client_id?: string
  idp_id_token?: string
  idp_issuer?: string
  idp_token_endpoint?: string
  valid_jwt?: string
}

/** What a client does in one scenario. */
export type Play = (url: string, context: ScenarioContext) => Promise<void>

/** How the client connects in every scenario. A busy machine is slow to answer. */
export const options: ConnectOptions = {
  info: { name: 'jackfield-conformance-client', version: '1.0.0' },
  onWarning: (text) => console.error(text),
  probeTimeoutMs: 20_000,
}
