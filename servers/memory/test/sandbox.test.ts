import { dirname } from 'node:path'
import { describe, expect, it } from 'vitest'
import { started, textOf } from '../../../packages/host/test/fixtures/hosts.ts'
import { homeFolder, named, withoutSandbox } from '../../../packages/host/test/sandbox/bubblewrap.ts'
import { builtProgram } from '../../../test/setup/built-program.ts'
import { alice, temporaryFile } from './fixture.ts'

const cli = { caller: 'cli' } as const
const rules = [{ id: 'all', verdict: 'allow' }] as const

describe.skipIf(withoutSandbox !== undefined)(named("the memory server in the host's sandbox"), () => {
  it('stores data in the folder that it may write', async () => {
    homeFolder()
    const file = temporaryFile()
    const config = {
      command: process.execPath,
      args: [builtProgram('memory'), '--file', file],
      sandbox: { write: [dirname(file)] },
    }
    const first = await started({ servers: { memory: config }, rules: [...rules] })
    expect(first.connections.get('memory')).toMatchObject({ state: 'ready', sandboxed: true })
    await first.call('memory__create_entities', { entities: [alice] }, cli)
    await first.close()
    const second = await started({ servers: { memory: config }, rules: [...rules] })
    expect(textOf(await second.call('memory__search_nodes', { query: 'tea' }, cli))).toContain('Alice')
  })
})
