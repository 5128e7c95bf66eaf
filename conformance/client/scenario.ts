import type { JsonObject } from '@jackfield/sdk'
import type { ConnectOptions } from '@jackfield/sdk/client'

/** What the suite passes to the client of a scenario besides a URL. */
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

/** Runs the client of one scenario. */
export type ScenarioClient = (url: string, context: ScenarioContext) => Promise<void>

/** Options of every client. The timeout allows for a busy machine. */
export const options: ConnectOptions = {
  info: { name: 'jackfield-conformance-client', version: '1.0.0' },
  onWarning: (text) => console.error(text),
  probeTimeoutMs: 20_000,
}
