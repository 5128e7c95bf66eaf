import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { programFile } from '../../../../test/setup/program-file.ts'
import type { ServerConfig } from '../../src/types/index.ts'
import { folder, hostOf, until } from '../fixtures/hosts.ts'

const program = programFile(new URL('../fixtures/era-server.ts', import.meta.url))
const cycles = process.env['JACKFIELD_LONG'] === '1' ? 200 : 20
const side = 5

/** Processes of these groups that are alive; a zombie is not. */
function alive(groups: ReadonlySet<string>): string[] {
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false
    try {
      const [state, , group] = readFileSync(`/proc/${pid}/stat`, 'utf8')
        .replace(/^.*\) /s, '')
        .split(' ')
      return state !== 'Z' && groups.has(group ?? '')
    } catch {
      return false
    }
  })
}

it.skipIf(process.platform !== 'linux')(
  'no server process remains after servers are connected, killed and reconnected many times (needs /proc)',
  { timeout: 240_000 },
  async () => {
    const log = join(folder(), 'messages.log')
    // A server that starts a process of its own, which outlives it unless the client ends it.
    const config: ServerConfig = {
      command: 'sh',
      args: ['-c', `sleep 1000 & exec "${process.execPath}" "${program}"`],
      env: { MODE: '2025-11-25', LOG: log },
    }
    const names = Array.from({ length: side }, (_, n) => `s${n}`)
    const host = hostOf({
      servers: Object.fromEntries(names.map((name) => [name, config])),
      connectTimeoutMs: 60_000,
    })
    await host.start()
    const groups = (): Set<string> =>
      new Set(
        readFileSync(log, 'utf8')
          .trim()
          .split('\n')
          .map((line) => line.split(' ')[0] ?? ''),
      )
    for (let cycle = side; cycle < cycles; cycle += side) {
      if (cycle % (2 * side) === 0) {
        for (const pid of alive(groups())) {
          const leader = groups().has(pid)
          if (leader) process.kill(Number(pid), 'SIGKILL')
        }
        await until(() => host.connections.get('s0')?.state !== 'ready', 'the loss')
      }
      await Promise.all(names.map((name) => host.reconnect(name)))
    }
    expect(groups().size).toBeGreaterThanOrEqual(cycles)
    expect(alive(groups()).length).toBeGreaterThanOrEqual(side)
    await host.close()
    expect(alive(groups())).toEqual([])
  },
)
