import { createHash } from 'node:crypto'
import { calculateJwkThumbprint, exportJWK, generateKeyPair, SignJWT } from 'jose'
import { asJson, type Changed } from './support.ts'

export interface Prover {
  /** What a token is bound to. */
  readonly jkt: string
  /** A proof for one request, with some of it changed. */
  prove(request: ProvenRequest, changed?: Changed, header?: Changed): Promise<string>
}

export interface ProvenRequest {
  readonly method: string
  readonly url: string
  readonly token?: string
}

/** A client with a key that it proves to possess (RFC 9449). */
export async function prover(alg = 'ES256'): Promise<Prover> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  const jwk = await exportJWK(publicKey)
  return {
    jkt: await calculateJwkThumbprint(jwk),
    prove: ({ method, url, token }, changed = {}, header = {}) => {
      const ath = token === undefined ? {} : { ath: createHash('sha256').update(token).digest('base64url') }
      const iat = Math.floor(Date.now() / 1000)
      const claims = { htm: method, htu: url, jti: crypto.randomUUID(), iat, ...ath, ...changed }
      return new SignJWT(asJson(claims))
        .setProtectedHeader({ typ: 'dpop+jwt', alg, jwk, ...header })
        .sign(privateKey)
    },
  }
}
