import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { publishedFolders, readManifest } from '../../scripts/fresh-project.ts'
import { LocalRegistry } from '../../scripts/local-registry.ts'
import { type Finished, root, run } from '../../scripts/run.ts'
import { packedOnce } from '../setup/packed-once.ts'
import { here, installed, missing, type Place } from './place.ts'

const limitMs = 120_000
const names = publishedFolders().map((folder) => readManifest(join(root, folder)).name)
const folder = mkdtempSync(join(tmpdir(), 'jackfield-installed-'))
const project = join(folder, 'project')
let registry: LocalRegistry

/** A runtime that the packages are installed for. */
interface Runtime extends Pick<Place, 'name' | 'needs'> {
  /** What runs a program: the arguments before its file. */
  command: readonly string[]
  /** Whether the host and the command line support it. */
  hasHost?: boolean
}

const runtimes: readonly Runtime[] = [
  {
    name: 'Node 20',
    needs: installed('node-20/bin/node'),
    command: [here('node_modules/node-20/bin/node')],
  },
  {
    name: 'Node 22',
    needs: installed('node-22/bin/node'),
    command: [here('node_modules/node-22/bin/node')],
    hasHost: true,
  },
  { name: 'Node 24', command: [process.execPath], hasHost: true },
  { name: 'Bun', needs: installed('bun/bin/bun.exe'), command: [here('node_modules/bun/bin/bun.exe')] },
  {
    name: 'Deno',
    needs: installed('deno/deno'),
    command: [here('node_modules/deno/deno'), 'run', '--quiet', '--allow-all', '--node-modules-dir=manual'],
  },
]

/** The server and the client of the README, over stdio with the runtime of the client. */
function writeQuickStart({ command }: Pick<Runtime, 'command'>): void {
  const read = (file: string): string => readFileSync(join(root, 'examples/quickstart', file), 'utf8')
  const [, ...args] = command
  const start = `command: process.execPath, args: ${JSON.stringify([...args, 'server.mjs'])}`
  const client = read('client.ts').replace("command: 'node', args: ['server.ts']", start)
  expect(client).toContain(start)
  writeFileSync(join(project, 'server.mjs'), read('server.ts'))
  writeFileSync(join(project, 'client.mjs'), `import process from 'node:process'\n${client}`)
  writeFileSync(
    join(project, 'http.mjs'),
    `import { defineServer, tool } from '@jackfield/sdk'
     import { connect } from '@jackfield/sdk/client'
     import { serveHttp } from '@jackfield/sdk/http'
     import { z } from 'zod'
     const hello = tool({ input: z.object({ name: z.string() }), run: ({ name }) => 'Hello, ' + name + '.' })
     const handler = serveHttp(defineServer({ name: 'one', version: '1.0.0', tools: { hello } }))
     const { url, close } = await handler.listen({ port: 0 })
     const client = await connect(url)
     console.log(JSON.stringify((await client.call('hello', { name: 'Ada' })).content))
     await client.close()
     await close()`,
  )
}

function inProject(command: readonly string[]): Promise<Finished> {
  const env = { HOME: folder, XDG_DATA_HOME: '', XDG_CONFIG_HOME: '', JACKFIELD_DAEMON: 'off' }
  return run(command, { limitMs, cwd: project, env })
}

beforeAll(async () => {
  mkdirSync(project)
  registry = await LocalRegistry.start(await packedOnce())
  writeFileSync(join(project, 'package.json'), '{ "private": true, "type": "module" }\n')
  const env = {
    npm_config_cache: join(folder, 'cache'),
    npm_config_registry: registry.url,
    npm_config_update_notifier: 'false',
  }
  const install = ['npm', 'install', '--no-audit', '--no-fund', ...names, 'zod']
  const finished = await run(install, { limitMs, cwd: project, env })
  expect(finished, finished.output).toMatchObject({ code: 0 })
}, limitMs)

afterAll(async () => {
  await registry?.close()
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
}, limitMs)

describe('every package, installed from its tarball', () => {
  for (const runtime of runtimes) {
    const why = missing(runtime)
    it.skipIf(why !== '')(
      `passes the quick start on ${runtime.name}${why}`,
      { timeout: limitMs },
      async () => {
        writeQuickStart(runtime)
        const stdio = await inProject([...runtime.command, 'client.mjs'])
        expect(stdio.output).toContain('Refunded 42.')
        expect(stdio.code).toBe(0)
        const http = await inProject([...runtime.command, 'http.mjs'])
        expect(http.output).toContain('"Hello, Ada."')
        expect(http.code).toBe(0)
        if (runtime.hasHost !== true) return
        const bin = join(project, 'node_modules/jackfield/bin/jackfield.js')
        const listed = await inProject([
          ...runtime.command,
          bin,
          ...['tools', '--json', '--', ...runtime.command, 'server.mjs'],
        ])
        expect(listed.output).toContain('refund')
        expect(listed.code).toBe(0)
      },
    )
  }

  it('reports on Node 20 which Node the command line needs', async (context) => {
    const [node20] = runtimes
    if (node20 === undefined || missing(node20) !== '') return context.skip(missing(runtimes[0] ?? {}))
    const { code, output } = await inProject([
      ...node20.command,
      join(project, 'node_modules/jackfield/bin/jackfield.js'),
      '--version',
    ])
    expect({ code, output }).toMatchObject({
      code: 2,
      output: expect.stringContaining('needs Node 22.13 or later'),
    })
  })
})
