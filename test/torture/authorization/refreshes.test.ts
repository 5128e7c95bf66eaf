import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { memoryStore } from '@jackfield/sdk/client/auth'
import { encryptedFiles, keyFile } from '@jackfield/sdk/client/auth/node'
import { afterEach, expect, onTestFinished, vi } from 'vitest'
import type { Authority } from '../../../packages/sdk/test/client-auth/support/authority.ts'
import {
  open,
  person,
  protectedServer,
} from '../../../packages/sdk/test/client-auth/support/protected-server.ts'
import { programFile } from '../../setup/program-file.ts'
import { campaign } from '../campaign.ts'
import { Random } from '../random.ts'

afterEach(() => {
  vi.useRealTimers()
})

const refreshes = (as: Authority): number =>
  as.at('/token').filter(({ params }) => params.get('grant_type') === 'refresh_token').length

campaign(
  {
    id: 'refresh-storm',
    chapter: 'Authorization',
    claim:
      'Processes that share credentials refresh them once per expiry, and none loses them or logs in again',
    trial: 'call at the moment of an expiry',
    trials: { test: 40, change: 120, long: 50_000 },
  },
  async (campaignRun) => {
    const [count, calls] = campaignRun.long ? [50, 100] : [10, 4]
    const rounds = campaignRun.trials / (count * calls)
    const one = await protectedServer()
    const directory = await mkdtemp(join(tmpdir(), 'jackfield-storm-'))
    onTestFinished(() => rm(directory, { recursive: true }))
    const key = join(directory, 'key')
    const store = encryptedFiles({ directory: join(directory, 'store'), key: keyFile(key) })
    const first = person({ store })
    await open(one, first.auth)
    const callers = await Promise.all(
      Array.from({ length: count }, () => started(one.url, join(directory, 'store'), key, calls)),
    )
    for (let round = 1; round <= rounds; round++) {
      one.as.expireAll()
      await Promise.all(callers.map((caller) => caller.go()))
      expect(one.calls, `round ${round}`).toHaveLength(round * count * calls)
      expect(refreshes(one.as), `round ${round}`).toBe(round)
    }
    await Promise.all(callers.map((caller) => caller.end()))
    expect(one.as.at('/authorize')).toHaveLength(1)
    const later = person({ store })
    await (await open(one, later.auth)).call('x')
    expect([first.opened.length, later.opened.length, refreshes(one.as)]).toEqual([1, 0, rounds])
    campaignRun.measured('processes', count, 'processes')
    campaignRun.measured('refreshes for each expiry', refreshes(one.as) / rounds, 'refreshes')
  },
)

/** A process that makes calls on request. */
async function started(...given: [url: string, directory: string, key: string, calls: number]) {
  const program = programFile(new URL('caller-program.ts', import.meta.url))
  const child = spawn(process.execPath, ['--no-warnings', program, ...given.map(String)], {
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let output = ''
  let wrong = ''
  let received = (): void => {}
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
    received()
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    wrong += text
  })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  ended.then(() => received())
  const line = (expected: string): Promise<void> =>
    new Promise((resolve, reject) => {
      received = () => {
        if (output.includes('\n')) {
          const now = output.trim()
          output = ''
          if (now === expected) resolve()
          else reject(new Error(`The program said ${now}`))
        } else if (child.exitCode !== null) {
          reject(new Error(`The program ended with ${child.exitCode}: ${wrong.slice(-2000)}`))
        }
      }
      received()
    })
  await line('ready')
  return {
    go(): Promise<void> {
      child.stdin.write('go\n')
      return line(`done ${given[3]}`)
    },
    async end(): Promise<void> {
      child.stdin.end()
      expect(await ended, wrong).toBe(0)
    },
  }
}

const life = 3_600

campaign(
  {
    id: 'skewed-clocks',
    chapter: 'Authorization',
    claim: 'A wrong or jumping clock costs at most one refresh, and never a login',
    trial: 'ten calls at once after a jump of a clock',
    trials: { test: 20, change: 60, long: 3_000 },
  },
  async (campaignRun) => {
    const random = new Random(campaignRun.seed)
    const one = await protectedServer()
    const store = memoryStore()
    const began = Date.now()
    vi.useFakeTimers({ toFake: ['Date'] })
    // Seconds of true time since the start, and the offsets of the two clocks.
    let time = 0
    let client = 0
    const authority = random.between(-300, 300)
    const issued = new Map<string, number>()
    one.allows = (token) => {
      const at = issued.get(token) ?? time
      issued.set(token, at)
      return one.as.good.has(token) && time < at + life + authority
    }
    const set = (): void => void vi.setSystemTime(began + (time + client) * 1_000)
    set()
    let mcp = await open(one, person({ store }).auth)
    let needed = 0
    let jumped = false
    for (let trial = 1; trial <= campaignRun.trials; trial++) {
      const where = `trial ${trial}, ${time} s, client ${client} s, authorization server ${authority} s`
      time += random.between(0, random.pick([10, 1_000, 2 * life]))
      const before = refreshes(one.as)
      const newest = Math.max(...issued.values())
      if (random.fraction() < 0.5) {
        client = random.between(-86_400, 86_400)
        jumped = true
      }
      set()
      if (random.fraction() < 0.2) mcp = await open(one, person({ store }).auth)
      const good = time < newest + life + authority
      if (!good) needed++
      const calls = await Promise.all(Array.from({ length: 10 }, () => mcp.call('x')))
      const made = refreshes(one.as) - before
      expect(calls, where).toHaveLength(10)
      expect(made, where).toBeLessThanOrEqual(1)
      if (!good) expect(made, where).toBe(1)
      if (good && !jumped && time < newest + life * 0.75) expect(made, where).toBe(0)
      if (made > 0) jumped = false
    }
    expect(one.as.at('/authorize')).toHaveLength(1)
    campaignRun.measured('expiries', needed, 'expiries')
    campaignRun.measured('refreshes', refreshes(one.as), 'refreshes')
  },
)
