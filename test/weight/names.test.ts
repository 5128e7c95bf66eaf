import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { root, waysIn } from './loaded.ts'

const run = promisify(execFile)

/** The names a way into the built SDK exports, in a process of its own. */
async function builtNames(way: string): Promise<string[]> {
  const program = `process.stdout.write(JSON.stringify(Object.keys(await import(${JSON.stringify(way)}))))`
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program], { cwd: root })
  return JSON.parse(stdout)
}

describe('the built SDK', () => {
  it.each(waysIn())('exports what the sources of %s do, and no more', async (way) => {
    const sources: object = await import(/* @vite-ignore */ way)
    expect((await builtNames(way)).sort()).toEqual(Object.keys(sources).sort())
  })

  it('has one class of each error, however it is reached', async () => {
    const program = `
      import { RpcError, McpError, defineServer, tool } from '@jackfield/sdk'
      import { connect } from '@jackfield/sdk/client'
      const wrong = await connect('not a URL').catch((error) => error)
      const server = defineServer({ name: 'one', version: '1', tools: { t: tool({ description: 't', run: () => { throw new RpcError(-32001, 'mine') } }) } })
      const client = await connect(server)
      const refused = await client.call('t').catch((error) => error)
      await client.close()
      process.stdout.write(JSON.stringify([wrong instanceof McpError, refused instanceof RpcError, refused.code]))`
    const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program], { cwd: root })
    expect(JSON.parse(stdout)).toEqual([true, true, -32001])
  })
})
