import { type ProtocolVersion, protocolVersions } from '@jackfield/sdk'
import { connect } from '@jackfield/sdk/client'
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest'
import type { Behaviour, Setting } from './behaviours/behaviour.ts'
import { missing, type Place, type Running, start } from './place.ts'
import { openPath } from './programs/app.ts'

/** A place that serves, and what is expected of it. */
export interface ServingPlace extends Place {
  /** What clients see before the paths of the servers. */
  prefix?: string
  /** What it must do, by revision. */
  behaviours: Partial<Record<ProtocolVersion, readonly Behaviour[]>>
}

/** Tests a place: starts its program once, and goes through what is expected of it. */
export function testServing(place: ServingPlace): void {
  const lacks = missing(place)
  const { prefix = '', behaviours } = place

  describe(`served by ${place.name}${lacks}`, () => {
    let running: Running | undefined
    const open: (() => unknown)[] = []

    beforeAll(async () => {
      if (lacks === '') running = await start(place)
    }, 160_000)
    afterEach(async () => {
      for (const work of open.splice(0).reverse()) await work()
    })
    afterAll(() => running?.stop())

    const at = (path: string): string => new URL(prefix + path, running?.url).href
    const setting = (version: ProtocolVersion): Setting => ({
      version,
      at,
      url: at(openPath),
      later: (work) => open.push(work),
      connect: async (options = {}, url = at(openPath)) => {
        const client = await connect(url, { ...options, revisions: [version] })
        open.push(() => client.close())
        return client
      },
    })

    for (const version of protocolVersions) {
      const expected = behaviours[version] ?? []
      if (expected.length === 0) continue
      describe(`at ${version}`, () => {
        it.skipIf(lacks !== '').each(expected)('$title', ({ run }) => run(setting(version)))
      })
    }
  })
}
