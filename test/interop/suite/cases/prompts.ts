import { expect } from 'vitest'
import type { Offer } from '../offer.ts'
import { type Case, does, failureOf, given } from './case.ts'

/** Prompts, and completion of their arguments and of template variables. */
export function promptCases(offer: Offer): Case[] {
  return [
    ...given(offer.prompts, ({ names, gets, arguments: shown, unknown, missingArgument }) => [
      does('lists prompts', async (bench) => {
        const listed = await (await bench.able()).prompts()
        expect(listed.map(({ name }) => name)).toEqual(expect.arrayContaining([...names]))
      }),
      ...given(shown, ({ name, as }) => [
        does('gets the arguments of a prompt', async (bench) => {
          const listed = await (await bench.able()).prompts()
          expect(listed.find((prompt) => prompt.name === name)).toMatchObject({ arguments: as })
        }),
      ]),
      ...gets.map(({ kind, name, args, messages }) =>
        does(`gets a prompt ${kind}`, async (bench) => {
          const got = await (await bench.able()).prompt(name, args)
          expect(got).toHaveLength(messages.length)
          expect(got).toMatchObject(messages)
        }),
      ),
      ...given(unknown, (codes) => [
        does('gets an error for an unknown prompt', async (bench) => {
          const failed = await failureOf(bench, (await bench.able()).prompt('no_such_prompt'))
          expect(failed.kind).toBe('rpc')
          expect(codes).toContain(failed.code)
        }),
      ]),
      ...given(missingArgument, ({ name, codes }) => [
        does('gets an error for a prompt without its argument', async (bench) => {
          const failed = await failureOf(bench, (await bench.able()).prompt(name))
          expect(failed.kind).toBe('rpc')
          expect(codes).toContain(failed.code)
        }),
      ]),
    ]),
    ...offer.completions.map(({ kind, ref, argument, context, values }) =>
      does(`completes ${kind}`, async (bench) => {
        const completion = await (await bench.able()).complete(ref, argument, context)
        expect(completion.values).toEqual(values)
      }),
    ),
  ]
}
