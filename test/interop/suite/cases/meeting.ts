import { expect } from 'vitest'
import type { Offer } from '../offer.ts'
import { type Case, calling, does, failureOf, given, textOf } from './case.ts'
import type { Setting } from './index.ts'

/** Meeting a server: revision, names, capabilities, and parting again. */
export function meetingCases(offer: Offer, { kind, revision, transport }: Setting): Case[] {
  const [first] = offer.contents
  return [
    does(`agrees on ${revision}`, async (bench) => {
      expect((await bench.able()).revision).toBe(revision)
    }),
    ...given(offer.name, (name) => [
      does('gets the identity of the server', async (bench) => {
        const { server } = await bench.able()
        expect(server).toMatchObject({ name, version: expect.stringMatching(/\d/) })
      }),
    ]),
    ...given(offer.instructions, (instructions) => [
      does('gets the instructions', async (bench) => {
        expect((await bench.able()).instructions).toContain(instructions)
      }),
    ]),
    does('gets the capabilities of the server', async (bench) => {
      const { capabilities } = await bench.able()
      const named = offer.capabilities.filter((name) => name !== 'completions' || revision > '2024-11-05')
      expect(Object.keys(capabilities ?? {})).toEqual(expect.arrayContaining(named))
    }),
    does('serves a client without capabilities', async (bench) => {
      const mute = await bench.mute()
      expect(mute.revision).toBe(revision)
      expect(await mute.tools()).not.toEqual([])
    }),
    ...given(offer.ping, () => [
      does('gets repeated pings answered', async (bench) => {
        const client = await bench.able()
        for (let at = 0; at < 3; at++) await expect(client.ping()).resolves.toBeUndefined()
      }),
    ]),
    ...given(first, ({ call, content }) => [
      does('separates two connections: one ends and rejects calls, the other continues', async (bench) => {
        const [left, right] = await Promise.all([bench.open(), bench.mute()])
        expect(await calling(left, call)).toMatchObject({ content })
        await left.close()
        expect((await failureOf(bench, calling(left, call))).kind).not.toBe('rpc')
        expect(await calling(right, call)).toMatchObject({ content })
      }),
    ]),
    ...(kind.ours && transport !== 'stdio'
      ? offer.refuses.map((refused) =>
          does(
            `reports that the server does not support ${refused}, if only that is allowed`,
            async (bench) => {
              const { failure } = bench.kind
              const refusal = await bench.refusalOf(refused)
              expect(failure(refusal)).toMatchObject({
                kind: 'other',
                message: expect.stringMatching(/speaks? |revision|version/i),
              })
            },
          ),
        )
      : []),
    ...given(offer.echo, ({ tool, args, reply }) => [
      does('answers twenty calls in a row', async (bench) => {
        const client = await bench.able()
        for (let at = 0; at < 20; at++) {
          expect(textOf(await client.call(tool, args(`number ${at}`)))).toBe(reply(`number ${at}`))
        }
      }),
    ]),
  ]
}

/** The end of a server's process; what comes after it finds no server. */
export function endCases({ exit }: Offer, { transport }: Setting): Case[] {
  if (exit === undefined || transport !== 'stdio') return []
  return [
    does('fails open calls when the server process ends, and later ones too', async (bench) => {
      const client = await bench.mute()
      await client.tools()
      expect((await failureOf(bench, calling(client, exit))).kind).toBe('closed')
      expect((await failureOf(bench, client.ping())).kind).not.toBe('rpc')
    }),
  ]
}
