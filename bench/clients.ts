import type { Plan } from './http.ts'
import { type PairRow, pairRows } from './pair.ts'
import { start } from './process.ts'

export interface ClientTarget {
  name: string
  /** A file of `clients`. */
  kind: string
}

const peers: ClientTarget[] = [
  { name: 'plain fetch', kind: 'fetch' },
  { name: 'jackfield 2026-07-28', kind: 'jackfield' },
  { name: 'official v2, 2026-07-28', kind: 'official' },
]

/** Eight concurrent calls, from each client to the same server. The first client is the limit for the others. */
export async function measureClients(plan: Plan, kinds: readonly ClientTarget[] = peers): Promise<PairRow[]> {
  const server = await start('servers/jackfield.ts', ['--tools', '1'])
  const started = [server]
  const cpu = new Map<string, number[]>()
  const rates = new Map<string, number[]>()
  try {
    const clients = new Map<string, typeof server>()
    for (const { name, kind } of kinds) {
      const client = await start(`clients/${kind}.ts`, [`http://127.0.0.1:${server.port}/mcp`])
      started.push(client)
      clients.set(name, client)
    }
    for (let round = 0; round <= plan.rounds; round++) {
      for (const [name, client] of clients) {
        const ms = round === 0 ? plan.warmUpMs : plan.ms
        const done = await client.ask({ ms })
        if (done['failure'] !== undefined) throw new Error(`${name}: ${String(done['failure'])}`)
        if (round === 0) continue
        const calls = Number(done['calls'])
        cpu.set(name, [...(cpu.get(name) ?? []), Number(done['cpu']) / calls])
        rates.set(name, [...(rates.get(name) ?? []), (calls / Number(done['ms'])) * 1000])
      }
    }
  } finally {
    await Promise.all(started.map((one) => one.close()))
  }
  return pairRows(kinds, cpu, rates)
}
