import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { McpError } from '@jackfield/sdk'
import { connect } from '@jackfield/sdk/client'
import { stdio } from '@jackfield/sdk/client/stdio'
import { expect, onTestFinished } from 'vitest'
import { programFile } from '../../setup/program-file.ts'
import { RemoteMessages } from '../../setup/remote-messages.ts'
import { campaign } from '../campaign.ts'
import { Random } from '../random.ts'
import { inParallel, untilSettled } from './trials.ts'

const at = (name: string): string => programFile(new URL(name, import.meta.url))
const megabyte = 1_048_576
const hungMs = 100_000

interface Outcome {
  answered: number
  refused: number
}

/** A client of ours calls with so many bytes while its server writes as many and reads nothing. */
async function oursCalls(bytes: number, perMessage: number, maxQueuedBytes: number): Promise<Outcome> {
  let received = 0
  const client = await connect(
    stdio({
      command: process.execPath,
      args: [at('writing-server.ts'), String(bytes), String(perMessage)],
      maxQueuedBytes,
    }),
    { revisions: ['2025-11-25'], timeoutMs: hungMs, onLog: () => received++ },
  )
  onTestFinished(() => client.close())
  const text = 'y'.repeat(perMessage)
  const calls = Array.from({ length: Math.ceil(bytes / perMessage) }, () => client.call('echo', { text }))
  const outcomes = await untilSettled(Promise.allSettled(calls), hungMs, 'a call')
  const refused = outcomes.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
  for (const reason of refused) {
    expect(reason).toBeInstanceOf(McpError)
    expect(reason).toMatchObject({ code: 'LIMIT' })
  }
  expect(received).toBe(Math.ceil(bytes / perMessage))
  if (maxQueuedBytes > 2 * bytes) expect(refused).toEqual([])
  await client.close()
  return { answered: outcomes.length - refused.length, refused: refused.length }
}

/** A client that reads nothing before it has written so many bytes calls a server of ours that answers with as many. */
async function oursAnswers(bytes: number, perMessage: number, queueBytes: number): Promise<Outcome> {
  const server = spawn(process.execPath, [at('echo-server.ts'), String(queueBytes)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  onTestFinished(() => {
    server.kill('SIGKILL')
  })
  server.stdin.on('error', () => {})
  const over = once(server, 'close')
  const remote = new RemoteMessages()
  const clientInfo = { name: 'writer', version: '1' }
  const say = (message: object): boolean =>
    server.stdin.write(remote.sent(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`))
  say({
    id: 'hello',
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo },
  })
  say({ method: 'notifications/initialized' })
  const calls = Math.ceil(bytes / perMessage)
  // A server that gave up breaks the pipe.
  const room = (): Promise<unknown> => Promise.race([once(server.stdin, 'drain').catch(() => over), over])
  const params = { name: 'echo', arguments: { text: 'y'.repeat(perMessage) } }
  const writing = (async () => {
    for (let id = 0; id < calls; id++) {
      if (!say({ id, method: 'tools/call', params })) await room()
      if (server.exitCode !== null) return
    }
    server.stdin.end()
  })()
  await untilSettled(writing, hungMs, 'a client that reads nothing')
  let answered = 0
  let begun = ''
  server.stdout.setEncoding('utf8').on('data', (text: string) => {
    const lines = (begun + text).split('\n')
    begun = lines.pop() ?? ''
    for (const line of lines) if ('result' in JSON.parse(line)) answered++
  })
  const [code] = await untilSettled(over, hungMs, 'the server')
  expect(code).toBe(0)
  if (queueBytes > 2 * bytes) expect(answered).toBe(calls + 1)
  return { answered, refused: calls + 1 - answered }
}

campaign(
  {
    id: 'both-write-first',
    chapter: 'Processes',
    claim: 'A client and a server that both write before they read make progress, or one fails with a reason',
    trial: 'pair that writes 8 megabytes (with --long 100) each way first',
    trials: { change: 4, long: 24 },
  },
  async ({ trials, long, seed, measured }) => {
    const bytes = (long ? 100 : 8) * megabyte
    const sum = { answered: 0, refused: 0 }
    await inParallel(trials, 1, async (trial) => {
      const random = new Random(seed + trial)
      const perMessage = random.pick([16_384, 65_536, megabyte])
      const play = trial % 2 === 0 ? oursCalls : oursAnswers
      // Every other time the queue has room for everything.
      const { answered, refused } = await play(bytes, perMessage, trial % 4 < 2 ? 4 * bytes : megabyte)
      sum.answered += answered
      sum.refused += refused
    })
    measured('answered', sum.answered, '')
    measured('refused with a reason', sum.refused, '')
  },
)
