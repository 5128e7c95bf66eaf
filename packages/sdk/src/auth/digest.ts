import { toBase64Url } from '../core/base64url.ts'

const encoder = new TextEncoder()

/** SHA-256 of a text, as base64url. */
export async function digest(text: string): Promise<string> {
  return toBase64Url(new Uint8Array(await crypto.subtle.digest('SHA-256', encoder.encode(text))))
}
