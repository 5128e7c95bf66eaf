import { describe, expect, test } from 'vitest'
import { adapters } from '../serve/http-support.ts'
import { as, authenticated, challengeOf, eras, mounted, shop, tokenOf } from './support.ts'

const broader = { 'orders:write': ['orders:read'], admin: ['orders:write'] }

describe.each(adapters)('over the %s adapter', (_adapter, mount) => {
  test.each(eras)('a broader scope includes a narrower one, on %s', async (_era, request) => {
    const { server, ran } = shop()
    const { send } = await mounted(mount, server, {
      authenticate: authenticated({ scopes: { implied: broader } }),
    })
    for (const scope of ['orders:write', 'admin']) {
      const headers = as(await tokenOf({ scope }))
      expect((await request(send, headers, 'tools/call', { name: 'refund' })).status).toBe(200)
      expect((await request(send, headers, 'resources/read', { uri: 'shop://ledger' })).status).toBe(200)
      const { result } = await (await request(send, headers, 'tools/list')).json()
      expect(JSON.stringify(result)).toContain('refund')
    }
    expect(ran).toEqual(['refund', 'refund'])
  })

  test.each(eras)('a narrower scope never includes a broader one, on %s', async (_era, request) => {
    const { server, ran } = shop()
    const { send } = await mounted(mount, server, {
      authenticate: authenticated({ scopes: { implied: broader } }),
    })
    const headers = as(await tokenOf({ scope: 'orders:read' }))
    const refused = await request(send, headers, 'tools/call', { name: 'refund' })
    expect(refused.status).toBe(403)
    expect(challengeOf(refused).params['scope']).toBe('orders:write orders:read')
    expect(ran).toEqual([])
  })
})
