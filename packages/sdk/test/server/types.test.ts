import { type } from 'arktype'
import { describe, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import type { ToolArguments, ToolName, ToolResult } from '../../src/client/types.ts'
import { defineServer, prompt, reply, template, tool } from '../../src/index.ts'

const server = defineServer({
  name: 'shop',
  version: '1.0.0',
  tools: {
    price: tool({
      description: 'Price of an item',
      input: z.object({ item: z.string(), count: z.number().default(1) }),
      output: z.object({ cents: z.number() }),
      run: ({ item, count }) => {
        expectTypeOf(item).toBeString()
        expectTypeOf(count).toBeNumber()
        return { cents: count * item.length }
      },
    }),
    weigh: tool({
      input: type({ grams: 'number' }),
      run: ({ grams }) => {
        expectTypeOf(grams).toBeNumber()
        return `${grams} g`
      },
    }),
    now: tool({ description: 'The time', run: () => reply({ content: 'noon' }) }),
  },
  resources: {
    weather: template({
      uriTemplate: 'weather://{city}/{day}{?units}',
      complete: { city: () => ['Paris'] },
      read: ({ city, day, units }) => {
        expectTypeOf(city).toBeString()
        expectTypeOf(units).toEqualTypeOf<string | undefined>()
        return `${city} ${day}`
      },
    }),
  },
  prompts: { plan: prompt({ input: z.object({ to: z.string() }), run: ({ to }) => `Plan ${to}` }) },
})

describe('types from a server value', () => {
  it('give tool names, arguments and results', () => {
    expectTypeOf<ToolName<typeof server>>().toEqualTypeOf<'price' | 'weigh' | 'now'>()
    expectTypeOf<ToolArguments<typeof server, 'price'>>().toEqualTypeOf<{
      item: string
      count?: number | undefined
    }>()
    expectTypeOf<ToolResult<typeof server, 'price'>['structuredContent']>().toEqualTypeOf<
      { cents: number } | undefined
    >()
    expectTypeOf<ToolName<unknown>>().toBeString()
  })

  it('refuse a result that does not fit the output schema, and a variable the template lacks', () => {
    tool({
      output: z.object({ cents: z.number() }),
      // @ts-expect-error the output schema wants a number
      run: () => ({ cents: 'many' }),
    })
    template({
      uriTemplate: 'weather://{city}',
      // @ts-expect-error there is no such variable
      read: ({ town }) => town,
    })
    tool({
      input: z.object({ item: z.string() }),
      // @ts-expect-error there is no such argument
      run: ({ thing }) => thing,
    })
  })
})
