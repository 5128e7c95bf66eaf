import { getEventListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { McpError, type ProtocolVersion, protocolVersions } from '@jackfield/sdk'
import { type Client, connect } from '@jackfield/sdk/client'
import { expect, onTestFinished } from 'vitest'
import { campaign } from '../campaign.ts'
import { Random } from '../random.ts'
import { type Conduct, shellServer } from './shell-server.ts'
import { inParallel, untilSettled } from './trials.ts'

/** Far more than what is claimed, as the machine may be busy; a promise that takes longer counts as one that never settles. */
const hungMs = 20_000

interface Plan {
  version: ProtocolVersion
  conduct: Conduct
  /** Whether the client closes the connection before the server is killed. */
  closes: boolean
  /** Milliseconds from when the server is ready, or the requests were sent, until it is killed. */
  afterMs: number
  words: string
}

function planOf(random: Random, trial: number): Plan {
  const conduct = random.pick<Conduct>(['dies', 'deaf', 'open', 'stalled', 'half', 'answers', 'answers'])
  return {
    version: random.pick(protocolVersions),
    conduct,
    closes: conduct === 'open' && random.fraction() < 0.5,
    afterMs: random.fraction() * 25,
    words: conduct === 'dies' && random.fraction() < 0.5 ? 'code7' : `trial${trial}`,
  }
}

/** A request by each of the client's methods; some with more than fits into a pipe. */
function askEverything(client: Client, random: Random, signal: AbortSignal): Promise<unknown>[] {
  const options = { signal }
  const blob = 'x'.repeat(random.pick([0, 1_000, 70_000, 2_000_000]))
  return [
    client.call('tool', { blob }, options),
    client.call('tool', {}, options),
    client.tools(options),
    client.resources(options),
    client.templates(options),
    client.prompts(options),
    client.read('a:b', options),
    client.prompt('prompt', {}, options),
    client.complete(
      { ref: { type: 'ref/prompt', name: 'prompt' }, argument: { name: 'a', value: '' } },
      options,
    ),
    client.request('tools/list', {}, options),
    client.ping(options),
    client.setLogLevel('error'),
    client.watch({ resourceSubscriptions: ['a:b'], toolsListChanged: true }).then((watch) => watch.closed),
  ]
}

function assertReported(error: unknown, plan: Plan): void {
  expect(error).toBeInstanceOf(McpError)
  if (!(error instanceof McpError)) return
  expect(['OUTCOME_UNKNOWN', 'CONNECTION_CLOSED', 'CONNECT_FAILED']).toContain(error.code)
  if (plan.closes) return
  const end = plan.words === 'code7' ? { exitCode: 7, signal: null } : { exitCode: null, signal: 'SIGKILL' }
  expect(error.details).toMatchObject({ ...end, stderr: expect.stringContaining(plan.words) })
}

/** Returns how long after the kill the last promise settled. */
async function killOnce(random: Random, plan: Plan, signal: AbortSignal): Promise<number> {
  let onPid = (_pid: number): void => {}
  const pidPrinted = new Promise<number>((resolve) => {
    onPid = resolve
  })
  let output = ''
  const link = shellServer(plan.version, plan.conduct, plan.words, (text) => {
    output += text
    const [, pid] = /^pid (\d+) .*\n/.exec(output) ?? []
    if (pid !== undefined) onPid(Number(pid))
  })
  const connecting = connect(link, { revisions: [plan.version], signal })
  connecting.catch(() => {})
  const pid = await untilSettled(pidPrinted, 4 * hungMs, 'the start')
  const connects = plan.conduct !== 'dies' && plan.conduct !== 'deaf'
  const client = connects ? await untilSettled(connecting, 4 * hungMs, 'connect()') : undefined
  const pending = client === undefined ? [connecting] : askEverything(client, random, signal)
  const settled = Promise.allSettled(pending)
  await sleep(plan.afterMs)
  const closing = plan.closes ? client?.close() : undefined
  if (closing !== undefined) await sleep(random.fraction() * 10)
  const killed = performance.now()
  if (plan.conduct !== 'dies') process.kill(pid, 'SIGKILL')
  const outcomes = await untilSettled(settled, hungMs, 'a request')
  for (const one of outcomes) if (one.status === 'rejected') assertReported(one.reason, plan)
  if (client !== undefined) {
    const reason = await untilSettled(client.closed, hungMs, 'client.closed')
    if (plan.closes) expect(reason).toBeUndefined()
    else assertReported(reason, plan)
    await expect(untilSettled(client.call('later'), hungMs, 'a later call')).rejects.toMatchObject({
      code: 'CONNECTION_CLOSED',
    })
  }
  const elapsedMs = performance.now() - killed
  await untilSettled(Promise.resolve(closing ?? client?.close()), 4 * hungMs, 'client.close()')
  return plan.conduct === 'dies' ? 0 : elapsedMs
}

/** Handles of this process for children and timers. */
function activeResources(): string[] {
  const kinds = ['ProcessWrap', 'PipeWrap', 'Timeout']
  return process.getActiveResourcesInfo().filter((kind) => kinds.includes(kind))
}

campaign(
  {
    id: 'server-killed',
    chapter: 'Processes',
    claim:
      'Every pending request to a server is answered or fails with how the server ended, whenever it is killed',
    trial: 'server killed at a random moment with thirteen requests under way',
    trials: { change: 200, long: 10_000, test: 20 },
  },
  async ({ trials, seed, measured }) => {
    const unhandled: unknown[] = []
    const note = (reason: unknown): void => {
      unhandled.push(reason)
    }
    process.on('unhandledRejection', note)
    onTestFinished(() => {
      process.off('unhandledRejection', note)
    })
    const { signal } = new AbortController()
    const before = activeResources().length
    const exitListeners = process.listenerCount('exit')
    const times: number[] = []
    const kill = async (trial: number): Promise<number> => {
      const random = new Random(seed + trial)
      return killOnce(random, planOf(random, trial), signal)
    }
    await inParallel(trials, 8, async (trial) => {
      times.push(await kill(trial))
    })
    // Eight concurrent trials delay each other, so the duration is measured with one alone.
    let longestAlone = 0
    for (let trial = 0; trial < trials / 10; trial++) {
      longestAlone = Math.max(longestAlone, await kill(trials + trial))
    }
    await expect.poll(() => activeResources().length, { timeout: 10_000 }).toBeLessThanOrEqual(before)
    expect(unhandled).toEqual([])
    expect(getEventListeners(signal, 'abort')).toEqual([])
    expect(process.listenerCount('exit')).toBe(exitListeners)
    times.sort((a, b) => a - b)
    measured('median until all had settled', times[Math.floor(times.length / 2)] ?? 0, 'ms')
    measured('longest of eight at once', times.at(-1) ?? 0, 'ms')
    measured('longest of those one by one', longestAlone, 'ms')
    measured('unhandled rejections', unhandled.length, '')
  },
)
