import { type ChildProcess, fork } from 'node:child_process'
import { Random } from '../../random.ts'
import { slopeOf } from '../slope.ts'
import type { Order, Report } from './handlers-server.ts'
import { type Caller, lines, type Message, sessionHttp, statelessHttp } from './hard-callers.ts'

// Calls hard handlers in every way a client can, and prints whether the server is as new afterwards.

interface Input {
  trials: number
  seed: number
  /** The program of `handlers-server.ts`. */
  server: string
  /** Only handlers whose names include this. Default: all. */
  only?: string
}

const { trials, seed, server: program, only = '' }: Input = JSON.parse(process.argv[2] ?? '{}')
const random = new Random(seed)
const room = 16
const atOnce = 6
const samples = trials < 1000 ? 10 : 20
const patienceMs = 30_000
const secret = 'swordfish'

type State = Extract<Report, { type: 'state' }>
type Ready = Extract<Report, { type: 'ready' }>
type Way = Ready['ways'][number]

/** A server in its own process. */
class HandlerServer {
  readonly child: ChildProcess

  constructor(http: boolean) {
    const limits = { inFlight: room, inFlightPerNode: room }
    this.child = fork(program, [JSON.stringify({ http, limits })], {
      execArgv: ['--expose-gc', '--no-warnings'],
      stdio: ['pipe', 'pipe', 'inherit', 'ipc'],
    })
    this.child.once('exit', (code, signal) => {
      throw new Error(`The server ended with ${code ?? signal}`)
    })
  }

  ready(): Promise<Ready> {
    return new Promise((resolve) => {
      this.child.once('message', (report: Report) => {
        if (report.type === 'ready') resolve(report)
      })
    })
  }

  order(order: Order): void {
    this.child.send(order)
  }

  state(order: 'state' | 'measure'): Promise<State> {
    return new Promise((resolve) => {
      this.child.once('message', (report: Report) => {
        if (report.type === 'state') resolve(report)
      })
      this.order(order)
    })
  }

  end(): void {
    this.child.removeAllListeners('exit')
    this.child.disconnect()
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

function inTime<T>(what: string, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`${what}: nothing for ${patienceMs} ms`)), patienceMs)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

const right: Message = { result: { action: 'accept', content: { sure: true } } }
const nonsense: readonly [Message, ...Message[]] = [
  { result: {} },
  { result: { action: 'maybe' } },
  { result: { action: 'accept', content: { sure: 'perhaps' } } },
  { result: { action: 'accept' } },
  { result: { action: 'accept', content: [] } },
  { result: { action: 'cancel', content: { sure: 'x'.repeat(10_000) } } },
  { error: { code: -32603, message: 'I will not' } },
  { error: { code: -1, message: '', data: { deep: [[[]]] } } },
  { result: { action: 'decline' } },
]

function isFailure(answer: Message): boolean {
  return 'error' in answer || answer['result'] === null || JSON.stringify(answer).includes('"isError":true')
}

function isBusy(answer: Message | undefined): boolean {
  return answer !== undefined && JSON.stringify(answer).includes('Too many requests in flight')
}

interface Asked {
  readonly requestState?: string
  readonly inputRequests?: Readonly<Record<string, unknown>>
}

function askedIn(answer: Message | undefined): Asked | undefined {
  const result = answer?.['result']
  if (typeof result !== 'object' || result === null) return undefined
  const asked: Asked = result
  return asked.inputRequests === undefined ? undefined : asked
}

/** Puts answers of one kind to all that a result of the stateless era asks. */
function retryOf(params: Message, asked: Asked, given: Message): Message {
  const value = given['result'] ?? given['error']
  const names = Object.keys(asked.inputRequests ?? {})
  const inputResponses = Object.fromEntries(names.map((name) => [name, value]))
  return { ...params, requestState: asked.requestState, inputResponses }
}

/** Calls until there is room: what hung before may not be gone yet. */
async function callWhole(caller: Caller, params: Message): Promise<Message | undefined> {
  for (;;) {
    const answer = await caller.call(params).answer
    if (!isBusy(answer)) return answer
    await pause(2)
  }
}

async function wait(caller: Caller, way: Way, params: Message): Promise<void> {
  const answer = await callWhole(caller, params)
  if (answer === undefined) throw new Error('was not answered')
  if (isFailure(answer) !== (way.ending === 'fails')) {
    throw new Error(`was answered with ${JSON.stringify(answer).slice(0, 300)}`)
  }
}

async function cancel(caller: Caller, params: Message): Promise<void> {
  const trip = caller.call(params)
  const when = random.between(0, 6)
  if (when > 0) await Promise.race([trip.answer, pause(when - 1)])
  if (random.fraction() < 0.2) await Promise.race([trip.answer, pause(20)])
  trip.cancel()
  await trip.answer
}

/** Answers the questions of a session in one way; every other time takes the call back instead of waiting. */
async function answerLive(caller: Caller, params: Message): Promise<void> {
  const how = random.between(0, 4)
  const give = how === 1 ? random.pick(nonsense) : right
  const trip = caller.call(params, (answer) => {
    if (how === 0) return
    answer(give)
    if (how === 2) for (const more of [right, ...nonsense]) answer(more)
  })
  if (how === 0 || how === 4) {
    await Promise.race([trip.answer, pause(random.between(0, 20))])
    trip.cancel()
  }
  const answer = await trip.answer
  if (
    how === 3 &&
    params['name'] === 'hard' &&
    answer !== undefined &&
    isFailure(answer) &&
    !isBusy(answer)
  ) {
    throw new Error(`was answered with ${JSON.stringify(answer).slice(0, 300)}`)
  }
}

async function answerAgain(caller: Caller, params: Message): Promise<void> {
  let answer = await callWhole(caller, params)
  for (let round = 0; round < 5; round++) {
    const asked = askedIn(answer)
    if (asked === undefined) break
    const how = random.between(0, 4)
    if (how === 0) return
    const given = how === 1 ? random.pick(nonsense) : right
    const retry = retryOf(params, asked, given)
    if (how === 2) await Promise.all([callWhole(caller, retry), callWhole(caller, retry)])
    if (how === 3) retry['requestState'] = `${asked.requestState?.slice(0, -3)}abc`
    answer = await callWhole(caller, retry)
  }
  if (answer === undefined) throw new Error('was not answered')
}

let marks = 0

async function trial(caller: Caller, way: Way): Promise<void> {
  const name = random.pick(['hard', 'hard', 'hard', 'shaped'])
  const params = { name, arguments: { way: way.name, mark: `mark ${++marks};` } }
  const stateless = caller.name.includes('without sessions')
  if (way.ending === 'hangs') await cancel(caller, params)
  else if (way.ending === 'asks') await (stateless ? answerAgain : answerLive)(caller, params)
  else if (name === 'hard' && random.fraction() < 0.6) await wait(caller, way, params)
  else await cancel(caller, params)
}

/** Fills all slots with pending calls; one more is refused. */
async function fill(caller: Caller, server: HandlerServer): Promise<void> {
  const params = { name: 'hold', arguments: {} }
  const calls = Array.from({ length: room }, () => callWhole(caller, params))
  for (let look = 1; (await server.state('state')).holding < room; look++) {
    // A call that was cancelled at once may begin only now.
    server.order('open')
    if (look % 100 === 0) caller.insist?.()
    await pause(5)
  }
  if (!isBusy(await caller.call(params).answer)) throw new Error('More was taken than there is room for')
  server.order('release')
  for (const answer of await Promise.all(calls)) {
    if (answer === undefined || isFailure(answer)) throw new Error('A call that held its place was lost')
  }
}

interface Found {
  answered: number
  best: number
  upper: number
  timers: number
  handles: number
}

function counted({ resources }: State, name: string): number {
  return resources[name] ?? 0
}

function handlesOf({ resources }: State): number {
  return Object.entries(resources).reduce(
    (sum, [name, count]) => (name === 'Timeout' || name.startsWith('TCP') ? sum : sum + count),
    0,
  )
}

/** All trials against one server with one client. */
async function course(
  http: boolean,
  connect: (server: HandlerServer, url: string) => Caller | Promise<Caller>,
): Promise<Found> {
  const server = new HandlerServer(http)
  const { url, ways } = await server.ready()
  const caller = await connect(server, url)
  const [first, ...others] = ways.filter(({ name }) => name.includes(only))
  if (first === undefined) throw new Error('There are no handlers')
  let made = 0
  const batch = async (): Promise<void> => {
    const chosen = Array.from({ length: atOnce }, () => random.pick([first, ...others]))
    const done = chosen.map(async (way) => {
      try {
        await inTime('the client', trial(caller, way))
      } catch (error) {
        throw new Error(`Trial ${made} over ${caller.name}: a handler that ${way.name}`, { cause: error })
      }
    })
    await Promise.all(done)
    made += atOnce
    server.order('open')
  }
  for (let warm = 0; warm < Math.min(trials, 240); warm += atOnce) await batch()
  await inTime(`${caller.name}: filling it at first`, fill(caller, server))
  const before = await server.state('measure')
  const heaps = [{ at: 0, held: before.heap }]
  made = 0
  while (made < trials) {
    await batch()
    if (heaps.length <= (samples * made) / trials) {
      await inTime(`${caller.name}: filling it`, fill(caller, server))
      heaps.push({ at: made, held: (await server.state('measure')).heap })
    }
  }
  await inTime(`${caller.name}: filling it at last`, fill(caller, server))
  const after = await server.state('measure')
  if (after.unhandled.length > 0) throw new Error(`Nobody handled ${after.unhandled.join(', ')}`)
  caller.close()
  server.end()
  // Engines go on compiling for a while, so the first half is less significant.
  const { best, upper } = slopeOf(heaps.slice(samples / 2))
  return {
    answered: made,
    best,
    upper,
    timers: counted(after, 'Timeout') - counted(before, 'Timeout'),
    handles: handlesOf(after) - handlesOf(before),
  }
}

let where = ''
const onText = (text: string): void => {
  if (text.includes(secret)) throw new Error(`${where} was sent what it must not see: ${text.slice(0, 400)}`)
}
const found: Record<string, number> = {}
const note = (name: string, { answered, best, upper, timers, handles }: Found): void => {
  Object.assign(found, {
    [`${name} made`]: answered,
    [`${name} slope`]: best,
    [`${name} upper`]: upper,
    [`${name} timers`]: timers,
    [`${name} handles`]: handles,
  })
}
for (const [name, http, connect] of [
  ['stateless', true, (_server: HandlerServer, url: string) => statelessHttp(url, onText)],
  ['session', true, (_server: HandlerServer, url: string) => sessionHttp(url, onText)],
  ['lines', false, (server: HandlerServer) => lines(server.child, false, onText)],
  ['stateless lines', false, (server: HandlerServer) => lines(server.child, true, onText)],
] as const) {
  where = name
  note(name, await course(http, connect))
}
process.stdout.write(JSON.stringify(found), () => process.exit(0))
