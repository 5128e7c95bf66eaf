import { describe, expect, it } from 'vitest'
import { site } from '../../../../test/setup/site.ts'
import { returned, textOf } from '../fixtures/hosts.ts'
import { person } from '../fixtures/people.ts'
import { hostIn } from '../sampling/support.ts'

const cli = { caller: 'cli' } as const
const _rules = [{ id: 'all', verdict: 'allow' as const }]

describe.each(['session', 'stateless'] as const)('a URL elicitation (%s)', (era) => {
  it.each(['accept', 'decline', 'cancel'] as const)(
    'shows the full URL with the server that asks, and fetches nothing on %s',
    async (action) => {
      const { url, port, visits, touch } = await site()
      const surface = person({ elicitation: () => ({ action }), urlElicitation: true })
      const host = await hostIn(era, { surface })
      const params = { mode: 'url', message: 'Sign in', url, elicitationId: 'e1' }
      expect(returned(await host.call('s__ask', { params }, cli))).toMatchObject({ answer: { action } })
      expect(surface.asked).toMatchObject([
        { kind: 'elicitation', cause: { server: 's' }, params: { mode: 'url', message: 'Sign in', url } },
      ])
      expect(host.activity({ kind: 'elicitation' })).toMatchObject([
        { summary: `s asks to visit 127.0.0.1:${port}` },
      ])
      expect(visits()).toBe(0)
      await touch()
      expect(visits()).toBe(1)
    },
  )

  it('is not accepted for an absent user', async () => {
    const { url, visits } = await site()
    const host = await hostIn(era, { surface: { name: 'script', show: {}, urlElicitation: true } })
    const params = { mode: 'url', message: 'Sign in', url, elicitationId: 'e1' }
    const call = await host.call('s__ask', { params }, cli)
    expect(textOf(call)).not.toContain('accept')
    expect(visits()).toBe(0)
  })
})
