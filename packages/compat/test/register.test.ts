import { execFile } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const run = promisify(execFile)
const register = new URL('../dist/register.js', import.meta.url).href
const modules = fileURLToPath(new URL('../../../node_modules', import.meta.url))

/** What a program prints that runs with the hook. */
async function print(name: string, source: string): Promise<unknown> {
  const folder = mkdtempSync(join(tmpdir(), 'register-'))
  const file = join(folder, name)
  writeFileSync(file, source.replaceAll('~/', `${pathToFileURL(modules).href}/`))
  const { stdout } = await run(process.execPath, ['--import', register, file], {
    cwd: folder,
    env: { NODE_PATH: modules },
  })
  return JSON.parse(stdout)
}

// McpError of this package is the RpcError of Jackfield, which the official one is not.
const isOurs = 'Object.getPrototypeOf(McpError).name'

it('redirects the imports of an ES module', async () => {
  const source = `import { McpError } from '@modelcontextprotocol/sdk/types.js'
    import { McpServer } from '@modelcontextprotocol/server'
    console.log(JSON.stringify([${isOurs}, 'inner' in new McpServer({ name: 'a', version: '1' }).server]))`
  expect(await print('program.mjs', source)).toEqual(['RpcError', true])
})

it('redirects the imports of a CommonJS module', async () => {
  const source = `const { McpError } = require('@modelcontextprotocol/sdk/types.js')
    console.log(JSON.stringify([${isOurs}]))`
  expect(await print('program.cjs', source)).toEqual(['RpcError'])
})

it('delegates entries that are not covered to the official SDK', async () => {
  const source = `const { SSEServerTransport } = require('@modelcontextprotocol/sdk/server/sse.js')
    console.log(JSON.stringify([typeof SSEServerTransport]))`
  expect(await print('program.cjs', source)).toEqual(['function'])
})
