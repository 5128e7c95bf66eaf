import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import process from 'node:process'
import { setTimeout } from 'node:timers/promises'
import { expect, onTestFinished } from 'vitest'
import { programFile } from '../../setup/program-file.ts'
import { campaign } from '../campaign.ts'

const MB = 1_000_000
/** Calls of another client, at least, whose times are compared: before an attack and while it runs. */
const victimCalls = 20

/** How often each attack is made: as reported in the first audit, and how much less of it takes long enough for every change. */
const volumes: Readonly<Record<string, number>> = {
  'replays of an ended stream that are not read': 650,
  'pipelined requests whose answers are not read': 20,
  'large answers that are not read': 1500,
  'sessions that begin with a large title': 259,
  'subscriptions to long addresses': 1024,
  'bodies that do not end': 250,
  'calls with large arguments that take long': 256,
  'calls with arguments of many small values': 256,
  'subscriptions with a large filter': 64,
  'handlers that outlive their sessions': 25_176,
  'questions that are asked and answered': 100_000,
}

function child(program: string, args: readonly string[], execArgv: readonly string[] = []): ChildProcess {
  const path = programFile(new URL(program, import.meta.url))
  const started = fork(path, args, {
    execArgv: ['--no-warnings', ...execArgv],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  onTestFinished(() => {
    started.kill('SIGKILL')
  })
  return started
}

async function messageFrom(from: ChildProcess): Promise<unknown> {
  const [message] = await Promise.race([
    once(from, 'message'),
    once(from, 'exit').then(([code, signal]) => {
      throw new Error(`The program ended with ${code ?? signal}`)
    }),
  ])
  return message
}

/** The most memory a process had resident, in bytes; Linux only. */
function maxResident(pid: number): number {
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024
}

const body = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: {
    name: 'echo',
    arguments: {},
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'victim', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  },
})

/** Milliseconds that a call of another client takes. */
async function callTime(port: number, headers: Record<string, string>): Promise<number> {
  const began = performance.now()
  const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
    method: 'POST',
    body,
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': '2026-07-28',
      'Mcp-Method': 'tools/call',
      'Mcp-Name': 'echo',
      ...headers,
    },
  })
  const text = await response.text()
  expect([response.status, text], 'another client is served').toEqual([
    200,
    expect.stringContaining('"echo"'),
  ])
  return performance.now() - began
}

function median(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0
}

const clients = {
  authenticated: { attacker: { authorization: 'mallory' }, other: { authorization: 'alice' } },
  anonymous: { attacker: { 'x-forwarded-for': '203.0.113.7' }, other: { 'x-forwarded-for': '198.51.100.9' } },
}

campaign(
  {
    id: 'memory-attacks',
    chapter: 'Bytes and limits',
    claim:
      'No client takes the memory that others need: a server with 512 MB of heap stays up and serves them',
    trial: 'attack of one client',
    trials: { change: 11, long: 22 },
    changeMinutes: 4,
    longMinutes: 60,
  },
  async (campaignRun) => {
    const only = process.env['JACKFIELD_ATTACK']
    const kinds = campaignRun.long ? (['authenticated', 'anonymous'] as const) : (['authenticated'] as const)
    let made = 0
    for (const kind of kinds) {
      for (const [name, volume] of Object.entries(volumes)) {
        if (only !== undefined && !`${name}, ${kind}`.includes(only)) continue
        const count = campaignRun.long ? 10 * volume : Math.ceil(volume / 10)
        const { attacker, other } = clients[kind]
        const server = child('memory-program.ts', [kind], ['--max-old-space-size=512'])
        const first: unknown = await messageFrom(server)
        const port = Number((first as { port: number }).port)
        const idle: number[] = []
        for (let call = 0; call < victimCalls; call++) idle.push(await callTime(port, other))
        const attack = child('memory-attacker.ts', [
          name,
          String(port),
          String(count),
          JSON.stringify(attacker),
        ])
        let over = false
        const done = messageFrom(attack).then(() => {
          over = true
        })
        const times: number[] = []
        while (!over || times.length < victimCalls) {
          times.push(await callTime(port, other))
          // The processor is the attack's.
          await setTimeout(25)
        }
        await done
        expect(server.exitCode, `${name}: the server is alive`).toBeNull()
        const most = maxResident(server.pid ?? 0)
        campaignRun.measured(`${name}, ${kind}: most resident`, Math.round(most / MB), 'MB')
        campaignRun.measured(
          `${name}, ${kind}: call of another, of idle`,
          Math.round((10 * median(times)) / median(idle)) / 10,
          '×',
        )
        if (only !== undefined || process.env['JACKFIELD_TELL'] === '1')
          console.log(
            name,
            kind,
            count,
            Math.round(most / MB),
            'MB',
            median(idle).toFixed(2),
            median(times).toFixed(2),
            times.length,
            times.reduce((most, time) => Math.max(most, time), 0).toFixed(0),
          )
        expect(most, name).toBeLessThan(700 * MB)
        attack.kill('SIGKILL')
        server.kill('SIGKILL')
        made++
      }
    }
    campaignRun.setTrials(made)
  },
)
