import { inspect } from 'node:util'
import type { McpError } from '@jackfield/sdk'
import { expect, it } from 'vitest'
import { open, person, protectedServer } from './support/protected-server.ts'
import { json, type Seen } from './support/server.ts'

/** Everything a log might show of an error. */
function shown(error: unknown): string {
  const causes: unknown[] = []
  for (let at = error; at instanceof Error; at = at.cause) causes.push(at.message, at.stack, { ...at })
  return `${causes.map((cause) => inspect(cause, { depth: 20 })).join('\n')}\n${JSON.stringify(causes)}`
}

const answers: [string, (seen: Seen) => void][] = [
  ['without a type', ({ res }) => json(res, { access_token: 'CANARY', refresh_token: 'CANARY' })],
  ['of an unknown type', ({ res }) => json(res, { access_token: 'CANARY', token_type: 'mac' })],
  [
    'with a number for a token',
    ({ res }) => json(res, { access_token: 5, refresh_token: 'CANARY', token_type: 'bearer' }),
  ],
  [
    'with a line break in the token',
    ({ res }) => json(res, { access_token: 'CANARY\r\nx: y', token_type: 'bearer' }),
  ],
  [
    'with a bad lifetime',
    ({ res }) => json(res, { access_token: 'CANARY', token_type: 'bearer', expires_in: 'x' }),
  ],
  [
    'with a bad ID token',
    ({ res }) => json(res, { access_token: 'CANARY', token_type: 'bearer', id_token: 'CANARY' }),
  ],
  ['that is no JSON', ({ res }) => res.end('{"access_token":"CANARY"')],
  ['that is a page', ({ res }) => res.writeHead(500, { 'content-type': 'text/html' }).end('CANARY')],
  ['that is created', ({ res }) => json(res, { access_token: 'CANARY', token_type: 'bearer' }, 201)],
]

it.each(answers)('an error reveals nothing of a token response %s', async (_, answer) => {
  const one = await protectedServer()
  one.as.onToken = (seen) => {
    answer(seen)
    return true
  }
  const registered = { issuer: one.as.issuer, clientId: 'by-hand', clientSecret: 'SESAME' }
  const error = await open(one, person({ client: { name: 'test', registered } }).auth).then(
    () => undefined,
    (reason: McpError) => reason,
  )
  expect(error).toMatchObject({ code: 'UNAUTHORIZED' })
  expect(shown(error)).not.toMatch(/CANARY|SESAME|code-\d/)
})

it('an error reveals nothing of the stored tokens', async () => {
  const one = await protectedServer()
  const { auth } = person()
  const client = await open(one, auth)
  const traced: string[] = []
  const tokens = [...one.as.good.keys(), ...one.as.refreshable]
  one.as.expireAll()
  one.as.onToken = ({ res, params }) => {
    json(res, { error: 'invalid_request', error_description: `bad ${params.get('grant_type')}` }, 400)
    return true
  }
  const error = await client.call('x').catch((reason: unknown) => reason)
  traced.push(shown(error), inspect(auth, { depth: 20, showHidden: true }), JSON.stringify(auth))
  for (const token of tokens) expect(traced.join('\n')).not.toContain(token)
})
