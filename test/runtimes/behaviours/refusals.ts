import { request } from 'node:http'
import { expect } from 'vitest'
import { bodyBytes, lockedPath, pageOrigin } from '../programs/app.ts'
import type { Behaviour } from './behaviour.ts'
import { connectRaw, post, stateless } from './raw.ts'

/** Rejected requests, and the responses to pages and callers. */
export const refusals: readonly Behaviour[] = [
  {
    title: 'refuses pages of other origins, and lets pages of a listed origin read responses',
    async run(setting) {
      const evil = await stateless(setting.url, { origin: 'https://evil.example' }).call('echo', { text: '' })
      expect(evil.status).toBe(403)
      const answer = await (await connectRaw(setting, { origin: pageOrigin })).call('echo', { text: '' })
      expect(answer.status).toBe(200)
      expect(answer.headers.get('access-control-allow-origin')).toBe(pageOrigin)
      expect(answer.headers.get('access-control-expose-headers')?.toLowerCase()).toContain('mcp-session-id')
    },
  },
  {
    title: 'answers the preflight of a listed origin',
    async run({ url }) {
      const asked = ['content-type', 'mcp-protocol-version', 'mcp-method', 'mcp-name', 'mcp-param-x']
      const answer = await preflight(url, asked)
      expect(answer.status).toBe(204)
      expect(answer.headers.get('access-control-allow-methods')).toContain('DELETE')
      expect(answer.headers.get('access-control-allow-headers')?.split(/, ?/)).toEqual(asked)
    },
  },
  {
    title: 'refuses other host names',
    async run({ url }) {
      expect(await statusFor(url, 'rebound.example')).toBe(403)
      expect(await statusFor(url, 'localhost')).not.toBe(403)
    },
  },
  {
    title: 'refuses a body over the limit without Content-Length',
    async run({ url }) {
      const body = JSON.stringify({ padding: 'x'.repeat(bodyBytes) })
      const chunks = new Blob([body]).stream()
      const init = { method: 'POST', body: chunks, duplex: 'half' as const }
      const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
      expect((await fetch(url, { ...init, headers })).status).toBe(413)
    },
  },
  {
    title: 'answers an invalid request with the reason',
    async run({ url }) {
      const bad = await post(url, '{"jsonrpc":')
      expect([bad.status, await bad.json()]).toMatchObject([400, { error: { code: -32700 } }])
      expect((await post(url, '{}', { 'content-type': 'text/plain' })).status).toBe(415)
      expect((await post(url, '{}', { accept: 'text/html' })).status).toBe(406)
    },
  },
  {
    title: 'answers other HTTP methods with 405 and Allow',
    async run({ url }) {
      const answer = await fetch(url, { method: 'PUT', body: '{}' })
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST, GET, DELETE'])
      const modern = await fetch(url, { headers: stateless(url).headers })
      expect([modern.status, modern.headers.get('allow')]).toEqual([405, 'POST'])
    },
  },
]

/** How much a request may contain, in every runtime. */
export const bounds: readonly Behaviour[] = [
  {
    title: 'refuses a body over the limit',
    async run({ url }) {
      expect((await post(url, JSON.stringify({ padding: 'x'.repeat(bodyBytes) }))).status).toBe(413)
    },
  },
  {
    title: 'refuses a body that nests too deep',
    async run({ url }) {
      const answer = await post(url, `{"jsonrpc":"2.0","more":${'['.repeat(5000)}${']'.repeat(5000)}}`)
      expect([answer.status, await answer.json()]).toMatchObject([400, { error: { code: -32700 } }])
    },
  },
]

/** Who calls, where that is asked. */
export const callers: readonly Behaviour[] = [
  {
    title: 'authenticates before it parses the body',
    async run(setting) {
      const answer = await post(setting.at(lockedPath), '{"jsonrpc":')
      expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="test"'])
    },
  },
  {
    title: 'gives the handler its caller',
    async run(setting) {
      const ada = { authorization: 'Bearer ada' }
      const raw = await connectRaw({ ...setting, url: setting.at(lockedPath) }, ada)
      expect(await (await raw.call('whoami')).json()).toMatchObject({
        result: { content: [{ text: 'ada' }] },
      })
    },
  },
]

function preflight(url: string, headers: readonly string[]): Promise<Response> {
  return fetch(url, {
    method: 'OPTIONS',
    headers: {
      origin: pageOrigin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': headers.join(','),
    },
  })
}

/** How a GET with another Host header is answered. */
function statusFor(url: string, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request(
      url,
      { headers: { host, accept: 'text/event-stream' }, agent: false },
      (response) => {
        response.resume()
        resolve(response.statusCode ?? 0)
      },
    )
    asked.once('error', reject)
    asked.end()
  })
}
