import type { ProtocolVersion } from '@jackfield/sdk'
import { connect } from '@jackfield/sdk/client'
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest'
import type { Setting } from './behaviours/behaviour.ts'
import { calls } from './behaviours/calls.ts'
import { callers, refusals } from './behaviours/refusals.ts'
import { sessions } from './behaviours/sessions.ts'
import { here, installed, missing, type Place, type Running, start } from './place.ts'
import { openPath } from './programs/app.ts'

const node = [process.execPath, '--no-warnings'] as const

const both = ['2026-07-28', '2025-11-25'] as const

const places: readonly (Place & { revisions?: readonly ProtocolVersion[] })[] = [
  { name: 'Node', command: [...node, 'programs/node.ts'] },
  { name: 'Bun', needs: installed('bun/bin/bun.exe'), command: [here('node_modules/.bin/bun'), 'programs/bun.ts'] },
  {
    name: 'Deno',
    needs: installed('deno/deno'),
    command: [here('node_modules/.bin/deno'), 'run', '--allow-net=127.0.0.1', 'programs/deno.ts'],
  },
  {
    name: 'workerd, in a worker',
    needs: installed('workerd/bin/workerd'),
    command: [...node, 'programs/workerd.ts', 'worker.ts'],
    revisions: ['2026-07-28'],
  },
  {
    name: 'workerd, in a durable object',
    needs: installed('workerd/bin/workerd'),
    command: [...node, 'programs/workerd.ts', 'worker-object.ts'],
  },
]

describe.each(places.map((place) => [`${place.name}${missing(place)}`, place] as const))(
  'served by %s',
  (_title, place) => {
    const lacks = missing(place) !== ''
    const { revisions = both } = place
    let running: Running | undefined
    const open: (() => unknown)[] = []

    beforeAll(async () => {
      if (!lacks) running = await start(place)
    }, 90_000)
    afterEach(async () => {
      for (const work of open.splice(0).reverse()) await work()
    })
    afterAll(() => running?.stop())

    const at = (path: string): string => new URL(path, running?.url).href
    const setting = (version: Setting['version']): Setting => ({
      version,
      at,
      url: at(openPath),
      later: (work) => open.push(work),
      connect: async (options = {}) => {
        const client = await connect(at(openPath), { ...options, revisions: [version] })
        open.push(() => client.close())
        return client
      },
    })

    describe.each(revisions)('at %s', (version) => {
      it.skipIf(lacks).each([...calls, ...refusals, ...callers])('$title', ({ run }) => run(setting(version)))
    })
    if (revisions === both) it.skipIf(lacks).each(sessions)('a session $title', ({ run }) => run(setting('2025-11-25')))
  },
)
