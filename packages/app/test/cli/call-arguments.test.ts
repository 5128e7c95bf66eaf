import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type InProcess, inProcess } from '../terminal/in-process.ts'
import { tempFolder } from './jackfield.ts'
import { offer } from './one-tool-server.ts'

const add = {
  name: 'add',
  inputSchema: {
    type: 'object',
    properties: {
      note: { type: 'string' },
      a: { type: 'number', description: 'First number' },
      b: { type: 'number' },
      tags: { type: 'array', items: { type: 'integer' } },
    },
    required: ['a', 'b'],
  },
}

function call(words: string[], piped = true): InProcess {
  const home = tempFolder()
  const config = join(home, 'config.json')
  writeFileSync(config, JSON.stringify({ mcpServers: { sums: offer([add]) } }))
  return inProcess(['call', ...words, '--config', config], { home, piped })
}

async function sent(words: string[]): Promise<unknown> {
  const run = call(words)
  expect({ code: await run.ended, output: run.output() }).toMatchObject({ code: 0 })
  return JSON.parse(run.output())
}

describe('arguments of a call', () => {
  test('are assigned to the required properties in order', async () => {
    expect(await sent(['sums', 'add', '1', '2'])).toEqual({ a: 1, b: 2 })
    expect(await sent(['sums.add', '-3', '4'])).toEqual({ a: -3, b: 4 })
    expect(await sent(['sums.add', 'a=5', '6', 'note=x'])).toEqual({ a: 5, b: 6, note: 'x' })
  })

  test('can be written in parentheses', async () => {
    expect(await sent(['sums', 'add(a: 1, b: 2)'])).toEqual({ a: 1, b: 2 })
    expect(await sent(['sums.add(1.5, b: 2, note: "x, (y)", tags: [1, 2])'])).toEqual({
      a: 1.5,
      b: 2,
      note: 'x, (y)',
      tags: [1, 2],
    })
    expect(await sent(["sums.add(a: 1, b: 2, note: 'it\\'s')"])).toEqual({ a: 1, b: 2, note: "it's" })
    expect(await sent(["sums.add(a: 1, b: 2, note: it's late)"])).toEqual({ a: 1, b: 2, note: "it's late" })
  })

  test('that cannot be assigned or parsed are a usage error', async () => {
    for (const [words, why] of [
      [['sums.add', '1', '2', '3'], '"3" is one value too many. By position it takes: a, b.'],
      [['sums.add', '1', 'two'], 'b must be a number, not "two".'],
      [['sums.add(a: 1, b: [2)'], 'The text in parentheses is invalid'],
      [['sums.add(a: 1,, b: 2)'], 'The text in parentheses is invalid'],
      [['sums.add(a:, b: 2)'], 'a: has no value'],
    ] as const) {
      const run = call([...words])
      expect({ words, code: await run.ended }).toEqual({ words, code: 2 })
      expect(run.output()).toContain(why)
    }
  })

  test('that are required and missing are named when no user can be asked', async () => {
    const run = call(['sums.add', '1'])
    expect(await run.ended).toBe(2)
    expect(run.output()).toContain('Missing argument:\n  b')
  })

  test('that are required and missing are requested in a form on a terminal', async () => {
    const run = call(['sums.add', 'b=2'], false)
    await run.until('add needs arguments')
    await run.until('Call')
    run.press('down')
    run.type('40')
    await run.until('40')
    run.press('down', 'down', 'down')
    await run.until('[Call]')
    run.press('enter')
    await run.until('{"b":2,"a":40}')
    expect(await run.ended).toBe(0)
  })

  test('that are requested in a form can be cancelled: nothing is called', async () => {
    const run = call(['sums.add'], false)
    await run.until('add needs arguments')
    await run.until('Call')
    run.press('escape')
    expect(await run.ended).toBe(1)
    expect(run.output()).toContain('add was not called: cancelled.')
  })
})
