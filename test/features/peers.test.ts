import { serveHttp } from '@jackfield/sdk/http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createFixture } from '../interop/peers/jackfield/definition.ts'
import type { Running } from '../interop/suite/pair.ts'
import { order, peers, probesOf } from './peers.ts'
import { type ProbeName, probes } from './probes.ts'
import { groups } from './rows/index.ts'

const rows = groups.flatMap(({ features }) => features)

function urlOf(running: Running | undefined): string {
  if (running === undefined || !('url' in running.address)) throw new Error('It does not run')
  return running.address.url
}

describe.each(order)('%s, as its documentation begins', (peer) => {
  const { oldest, start } = peers[peer]
  const expected = probesOf(
    peer,
    rows.map((row) => row.peers[peer]),
  )
  let running: Running | undefined

  beforeAll(async () => {
    running = await start()
  })
  afterAll(() => running?.stop())

  it.each([...expected])('%s: %s', async (name, does) => {
    expect(await probes[name](urlOf(running), oldest)).toBe(does)
  })
})

describe('this project', () => {
  let running: Running | undefined

  beforeAll(async () => {
    const { url, close } = await serveHttp(createFixture(), { onWarning: () => {} }).listen()
    running = { address: { url, transport: 'http' }, stop: close }
  })
  afterAll(() => running?.stop())

  it.each(Object.keys(probes).filter((name): name is ProbeName => name in probes))('%s', async (name) => {
    expect(await probes[name](urlOf(running), '2024-11-05')).toBe(true)
  })
})
