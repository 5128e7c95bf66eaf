import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { inProcess } from '../terminal/in-process.ts'
import { tempFolder } from './jackfield.ts'
import { offer } from './one-tool-server.ts'

const searchFlights = {
  name: 'searchFlights',
  title: 'Search flights',
  description:
    'Finds flights between two cities, e.g. New York and Barcelona. Prices are in US dollars.\n\nMore words.',
  inputSchema: {
    type: 'object',
    properties: {
      origin: { type: 'string', description: 'City of departure' },
      destination: { type: 'string' },
      date: { type: 'string', format: 'date' },
      cabin: { $ref: '#/$defs/cabin' },
    },
    required: ['origin', 'destination', 'date'],
    $defs: { cabin: { enum: ['economy', 'business'] } },
  },
  annotations: { readOnlyHint: true },
}
const rest = {
  name: 'rest',
  description: 'Purpose:\n 1. Rests for a day.\n 2. Costs nothing.',
  inputSchema: { type: 'object' },
}

function configured(home: string): string[] {
  const config = join(home, 'config.json')
  writeFileSync(config, JSON.stringify({ mcpServers: { air: offer([searchFlights, rest]) } }))
  return ['--config', config]
}

async function shown(words: string[], options: { columns?: number; piped?: boolean }): Promise<string> {
  const home = tempFolder()
  const run = inProcess([...words, ...configured(home)], { home, ...options })
  expect(await run.ended).toBe(0)
  return run.output()
}

test('tools are listed as signatures with the first sentence of their description', async () => {
  const text = await shown(['tools', 'air'], { piped: true })
  expect(text.split('\n')).toEqual([
    'searchFlights(origin: string, destination: string, date: string, cabin?: "economy"|"business")',
    '  Finds flights between two cities, e.g. New York and Barcelona. [read-only]',
    'rest()',
    '  Purpose: 1. Rests for a day.',
    '',
    'In brackets: unverified hints of the server.',
    '',
  ])
})

test('a list fits the terminal, with signatures broken between arguments', async () => {
  for (const columns of [60, 32, 20]) {
    const text = await shown(['tools', 'air'], { columns })
    const lines = text.split('\n')
    expect(lines.filter((line) => line.length > columns)).toEqual([])
    expect(text.replaceAll(/\s+/g, '')).toContain('searchFlights(origin:string,destination:string,')
  }
  const [first, second] = (await shown(['tools', 'air'], { columns: 60 })).split('\n')
  expect(first).toBe('searchFlights(origin: string, destination: string,')
  expect(second).toBe('    date: string, cabin?: "economy"|"business")')
})

test('a terminal of unknown width gets no wrapping', async () => {
  expect(await shown(['tools', 'air'], { columns: 0 })).toContain(
    'date: string, cabin?: "economy"|"business")\n',
  )
})

test('one tool is shown with its whole definition, as two arguments or as server.tool', async () => {
  const text = await shown(['tools', 'air', 'searchFlights'], { piped: true })
  expect(text).toContain('Prices are in US dollars.\n\nMore words.')
  expect(text).toMatch(/origin +string +required +City of departure/)
  expect(text).toContain('"$defs"')
  expect(text).toContain('"readOnlyHint": true')
  expect(await shown(['tools', 'air.searchFlights'], { piped: true })).toBe(text)
})

test("--json lists the tools' original definitions", async () => {
  const list = await shown(['tools', 'air', '--json'], { piped: true })
  expect(JSON.parse(list)).toEqual({ tools: [searchFlights, rest] })
})
