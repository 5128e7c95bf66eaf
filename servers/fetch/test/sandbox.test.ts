import { describe, expect, it } from 'vitest'
import { started, textOf } from '../../../packages/host/test/fixtures/hosts.ts'
import { homeFolder, named, withoutSandbox } from '../../../packages/host/test/sandbox/bubblewrap.ts'
import { builtProgram } from '../../../test/setup/built-program.ts'
import { article, siteOf } from './fixture.ts'

const cli = { caller: 'cli' } as const
const rules = [{ id: 'all', verdict: 'allow' }] as const

describe.skipIf(withoutSandbox !== undefined)(named("the fetch server in the host's sandbox"), () => {
  it('reaches the listed hosts through the proxy of the sandbox, and no others', async () => {
    homeFolder()
    const site = await siteOf({ '/': article('<p>From inside</p>') })
    const other = await siteOf({ '/': article('') })
    const config = {
      command: process.execPath,
      args: [builtProgram('fetch'), '--allow-private', site.place, '--allow-private', other.place],
      sandbox: { network: [site.place] },
    }
    const host = await started({ servers: { fetch: config }, rules: [...rules] })
    expect(host.connections.get('fetch')).toMatchObject({ state: 'ready', sandboxed: true })
    expect(textOf(await host.call('fetch__fetch', { url: site.url }, cli))).toContain('From inside')
    await expect(host.call('fetch__fetch', { url: other.url }, cli)).resolves.toMatchObject({
      result: { isError: true },
    })
    expect(other.requests).toEqual([])
  })
})
