import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))
const tsc = join(createRequire(import.meta.url).resolve('typescript/package.json'), '../bin/tsc')

let folder = ''

beforeAll(async () => {
  folder = await mkdtemp(join(root, 'node_modules/.types-'))
})

afterAll(() => rm(folder, { recursive: true, force: true }))

const numbers = Array.from({ length: 50 }, (_, at) => at)
const schemas = `
import { z } from 'zod'
${numbers.map((at) => `export const in${at} = z.object({ a${at}: z.string(), b: z.number().optional() })\nexport const out${at} = z.object({ r${at}: z.number() })`).join('\n')}
`
const server = `${schemas}
import { defineServer, tool } from '@jackfield/sdk'
export const server = defineServer({ name: 'many', version: '1', tools: {
${numbers.map((at) => `  t${at}: tool({ input: in${at}, output: out${at}, run: ({ a${at} }) => ({ r${at}: a${at}.length }) }),`).join('\n')}
} })
`
const client = `${server}
import { connect } from '@jackfield/sdk/client'
export async function use(): Promise<number> {
  const client = await connect(server)
  let sum = 0
${numbers.map((at) => `  sum += (await client.call('t${at}', { a${at}: 'x' })).structuredContent?.r${at} ?? 0`).join('\n')}
  return sum
}
`

/** Type instantiations the compiler needs for a program: a count, the same on every machine. */
async function instantiations(name: string, source: string): Promise<number> {
  const file = join(folder, `${name}.ts`)
  await writeFile(file, source)
  const flags =
    '--ignoreConfig --noEmit --strict --skipLibCheck --module nodenext --target es2023 --exactOptionalPropertyTypes'
  const { stdout } = await run(process.execPath, [tsc, ...flags.split(' '), '--extendedDiagnostics', file], {
    cwd: folder,
  })
  return Number(/Instantiations:\s+(\d+)/.exec(stdout)?.[1])
}

describe('the cost of the types for the compiler', () => {
  it('is under 900 instantiations for a tool, and as many for a typed call', {
    timeout: 120_000,
  }, async () => {
    const alone = await instantiations('schemas', schemas)
    const served = await instantiations('server', server)
    const called = await instantiations('client', client)
    expect(alone).toBeGreaterThan(0)
    expect((served - alone) / numbers.length).toBeLessThan(900)
    expect((called - served) / numbers.length).toBeLessThan(900)
  })
})
