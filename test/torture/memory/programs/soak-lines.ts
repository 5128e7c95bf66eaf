import { Readable, Writable } from 'node:stream'
import { serveStdio } from '@jackfield/sdk/stdio'
import { cancelledOf, initialize, initialized, messageBytes, messageOf, requestOf } from './kinds.ts'
import { planIn, soak } from './soak.ts'
import { wares } from './wares.ts'

// A server on a pair of streams, and a client that sends each kind of request to it, in both eras by turns.

const plan = planIn(process.argv[2])
const { server, began, stopped } = wares()
const answers = new Map<unknown, (line: string) => void>()
const refusals: ((line: string) => void)[] = []
let part = ''

const input = new Readable({ read: () => {} })
const output = new Writable({
  write(chunk: Buffer, _encoding, done) {
    const lines = (part + chunk.toString()).split('\n')
    part = lines.pop() ?? ''
    for (const line of lines) receive(line)
    done()
  },
})
serveStdio(server, { input, output, limits: { messageBytes } })

function receive(line: string): void {
  const message: { id?: unknown; method?: string } = JSON.parse(line)
  if (message.method !== undefined) return
  if (message.id === undefined) refusals.shift()?.(line)
  else answers.get(message.id)?.(line)
  answers.delete(message.id)
}

function say(text: string): void {
  input.push(Buffer.from(`${text}\n`))
}

function answerTo(id: unknown): Promise<string> {
  return new Promise((resolve) => answers.set(id, resolve))
}

const initializeAnswer = answerTo('initialize')
say(initialize)
await initializeAnswer
say(initialized)

async function runRequest(n: number): Promise<void> {
  const era = Math.floor(n / 20) % 2 === 0 ? 'modern' : 'session'
  const request = requestOf(n, era)
  const text = messageOf(n, request)
  if (request.twist === 'cancelled') {
    say(text)
    await began(n)
    say(cancelledOf(n))
    await stopped(n)
    return
  }
  const refused = request.twist === 'oversized'
  const answered = refused ? new Promise<string>((resolve) => refusals.push(resolve)) : answerTo(n)
  say(text)
  const line = await answered
  if (!line.includes(request.answer)) {
    throw new Error(`${line.slice(0, 500)} where ${request.answer} was expected`)
  }
  if (n % 500 === 0) server.changes.publish({ type: 'tools' })
}

await soak(
  {
    runRequest,
    concurrency: 8,
    listeners: () =>
      [input, output].reduce(
        (sum, stream) => sum + stream.eventNames().reduce((all, name) => all + stream.listenerCount(name), 0),
        0,
      ),
  },
  plan,
)
