import { existsSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { Part } from './fixtures/part.ts'
import type { Desk, Fixture, Ran, Tool, Verdict } from './types.ts'
import { type Entry, helpOf } from './with.ts'

/** A server that plays a part, with what it left behind besides its record. */
export interface Playing extends Fixture {
  /** Lets it say something else from now on. */
  becomes(part: Part): Promise<void>
  /** The processes it was started as so far. */
  started(): number[]
  /** How many reads it had under way at most. */
  mostReads(): number
  /** The value it found in the variable that its part `notes`. */
  noted(): string | undefined
}

/** Writes the part down and gives the server that plays it, for `http` already listening. */
export async function playing(desk: Desk, part: Part, transport?: 'http'): Promise<Playing> {
  const file = await desk.write(`parts/${part.name}-${transport ?? 'stdio'}.json`, JSON.stringify(part))
  const fixture = await desk.server('played', ...(transport === undefined ? [] : [transport]), file)
  const left = (ending: string): string | undefined => {
    const path = `${file}.${ending}`
    return existsSync(path) ? readFileSync(path, 'utf8') : undefined
  }
  return {
    ...fixture,
    becomes: (next) => writeFile(file, JSON.stringify(next)),
    started: () => (left('started') ?? '').split('\n').filter(Boolean).map(Number),
    mostReads: () => Number(left('peak') ?? 0),
    noted: () => left('noted'),
  }
}

/** mcp-use is given servers by their address, which is what it is made for; the others as programs. */
export function transportFor(tool: Tool): 'http' | undefined {
  return tool === 'mcp-use' ? 'http' : undefined
}

export function decided(holds: boolean, otherwise: string): Verdict {
  return holds ? { kind: 'yes' } : { kind: 'no', note: otherwise }
}

/** What the tool's help was read for, and does not have. */
export function without(tool: keyof typeof helpOf, what: string): { kind: 'absent'; source: string } {
  return { kind: 'absent', source: `${helpOf[tool]}: ${what}` }
}

type Others = Record<Exclude<Tool, 'jackfield'>, { kind: 'absent'; source: string }>

/** For what none of the others' help has. */
export function noneHas(what: string): Others {
  return {
    inspector: without('inspector', what),
    mcpdo: without('mcpdo', what),
    mcporter: without('mcporter', what),
    'mcp-use': without('mcp-use', what),
    wong2: without('wong2', what),
  }
}

/** Connects mcpdo to servers of the file by their names. */
export async function joinMcpdo(desk: Desk, file: string, names: readonly string[]): Promise<void> {
  for (const name of names) {
    const ran = await desk.run('mcpdo', ['connect', name, '--config', file, '--era', 'auto'])
    if (ran.code !== 0) throw new Error(`mcpdo did not connect: ${ran.stderr.slice(-300)}`)
  }
}

/** Connects mcp-use to servers under names. */
export async function joinMcpUse(desk: Desk, servers: Record<string, Entry>): Promise<void> {
  for (const [name, { url = '' }] of Object.entries(servers)) {
    const ran = await desk.run('mcp-use', ['client', 'connect', name, url, '--no-oauth'])
    if (ran.code !== 0) throw new Error(`mcp-use did not connect: ${ran.stderr.slice(-300)}`)
  }
}

/** Everything a tool wrote. */
export function allOf({ stdout, stderr }: Ran): string {
  return `${stdout}\n${stderr}`
}

/** A port that was free a moment ago. */
export async function closedPort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === 'object' && address !== null ? address.port : 0
}
