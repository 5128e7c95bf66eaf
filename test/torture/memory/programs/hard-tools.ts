import { type Context, RpcError, ToolError, tool } from '@jackfield/sdk'

// Handlers with the mistakes that a server must survive.

/** How a handler ends without a cancellation. */
export type Ending = 'answers' | 'fails' | 'hangs' | 'asks'

interface Way {
  readonly ending: Ending
  /** @param mark distinguishes the call's server requests from those of others */
  run(ctx: Context, mark: string): unknown
}

/** Ways of hard handlers by their names. */
export type Ways = ReadonlyMap<string, Way>

/** Contained in what handlers throw or send after their end; no sent message may contain it. */
export const secret = 'swordfish'

const pause = (ms = 1): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
const refuse = (): never => {
  throw new Error(secret)
}

function circular(): object {
  const self: { self?: object } = {}
  self.self = self
  return self
}

/** An object that throws at whatever is done with it. */
function untouchable(): object {
  return new Proxy(
    {},
    {
      get: refuse,
      has: refuse,
      ownKeys: refuse,
      getPrototypeOf: refuse,
      getOwnPropertyDescriptor: refuse,
    },
  )
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

/** An error that throws when it is read. */
function unreadable(): Error {
  const error = new Error(secret)
  for (const name of ['message', 'stack', 'name', 'cause', 'toString']) {
    Object.defineProperty(error, name, { get: refuse })
  }
  return error
}

/** What throws itself when it is looked at, however often. */
function contagious(): object {
  const proxy: object = new Proxy(
    {},
    {
      getPrototypeOf: () => {
        throw proxy
      },
      get: () => {
        throw proxy
      },
    },
  )
  return proxy
}

function nested(): unknown {
  let value: unknown = 0
  for (let depth = 0; depth < 50_000; depth++) value = [value]
  return value
}

const thrown: Readonly<Record<string, () => unknown>> = {
  'an error': () => new Error(secret),
  nothing: () => undefined,
  null: () => null,
  'a text': () => secret,
  'a big number': () => 10n ** 40n,
  'a symbol': () => Symbol(secret),
  'a function': () => refuse,
  'a frozen error': () => Object.freeze(new Error(secret)),
  'a circular error': () => Object.assign(new Error(secret), { cause: circular() }),
  'an unreadable error': unreadable,
  'an untouchable object': untouchable,
  'a revoked proxy': revoked,
  'an object that throws itself': contagious,
  'a promise like': () => ({ [['th', 'en'].join('')]: refuse }),
  'an error of the protocol with circular data': () => new RpcError(-32000, 'No', circular()),
  'an error of the protocol with untouchable data': () => new RpcError(-32000, 'No', untouchable()),
  'an unreadable error for the model': () =>
    Object.defineProperty(new ToolError('No'), 'message', { get: refuse }),
}

const returned: Readonly<Record<string, () => unknown>> = {
  'a circular object': circular,
  'a big number': () => 1n,
  'an untouchable object': untouchable,
  'a revoked proxy': revoked,
  'an object that throws itself': contagious,
  'very deep lists': nested,
  'what JSON throws at': () => ({ toJSON: refuse }),
  'a promise like that throws': () => ({ [['th', 'en'].join('')]: refuse }),
  'content that throws': () => [Object.defineProperty({ type: 'text' }, 'text', { get: refuse })],
}

const schema = {
  type: 'object' as const,
  properties: { sure: { type: 'boolean' as const } },
  required: ['sure'],
}

/** Does all a handler can do with its context, when nothing of it should have an effect any more. */
function speak(ctx: Context): void {
  ctx.log('error', `late ${secret}`)
  ctx.progress(1000 + performance.now())
  ctx.detach()
  ctx.elicit({ message: `late ${secret}`, schema })
  ctx.sample({ messages: [{ role: 'user', content: { type: 'text', text: secret } }], maxTokens: 1 })
  ctx.roots()
  ctx.can('elicitation')
  ctx.signal.addEventListener('abort', () => {})
  ctx.parked.addEventListener('abort', () => {})
}

/** The ways of hard handlers; those that hang do so until the gate opens. */
export function hardWays(gate: () => Promise<void>): Ways {
  /** Contexts of requests that are over. */
  const contexts: Context[] = []
  const ways = new Map<string, Way>()
  const add = (name: string, ending: Ending, run: Way['run']): void => {
    ways.set(name, { ending, run })
  }

  for (const [name, make] of Object.entries(thrown)) {
    add(`throws ${name}`, 'fails', () => {
      throw make()
    })
    add(`throws ${name} later`, 'fails', async () => {
      await pause()
      throw make()
    })
  }
  for (const [name, make] of Object.entries(returned)) {
    add(`returns ${name}`, 'fails', make)
    add(`returns ${name} later`, 'fails', async () => {
      await pause()
      return [make()]
    })
  }
  add('returns a promise like that never settles', 'hangs', (ctx) => ({
    [['th', 'en'].join('')]: (resolve: (value: string) => void) => {
      ctx.progress(1)
      gate().then(() => resolve('late'))
    },
  }))
  add('returns a promise like that settles twice', 'answers', () => ({
    [['th', 'en'].join('')]: (resolve: (value: string) => void, reject: (error: unknown) => void) => {
      resolve('once')
      resolve('twice')
      reject(new Error(secret))
    },
  }))
  add('hangs', 'hangs', async () => {
    await gate()
    return 'late'
  })
  add('hangs and then throws', 'hangs', async () => {
    await gate()
    throw new Error(secret)
  })
  add('stops when it is cancelled', 'hangs', ({ signal }) => {
    return new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason))
      gate().then(() => resolve('late'))
    })
  })
  add('stops when it is cancelled, and sends notifications', 'hangs', async (ctx) => {
    const stopped = new Promise<boolean>((resolve) => {
      ctx.signal.addEventListener('abort', () => resolve(true))
    })
    if (await Promise.race([stopped, gate()])) speak(ctx)
    return 'stopped'
  })
  add('streams and stops', 'hangs', async (ctx) => {
    for (let step = 0; step < 200; step++) {
      ctx.progress(step, 200)
      ctx.log('error', { step })
    }
    await gate()
    ctx.progress(1000)
    return 'late'
  })
  add('streams and answers', 'answers', async (ctx) => {
    for (let step = 0; step < 200; step++) {
      ctx.progress(step, 200, 'x'.repeat(step))
      ctx.log('error', circular())
      if (step % 50 === 0) await pause()
    }
    return 'done'
  })
  add('speaks after its end', 'answers', (ctx) => {
    for (const wait of [0, 1, 5]) setTimeout(speak, wait, ctx)
    return 'done'
  })
  add('keeps its context', 'answers', (ctx) => {
    for (const old of contexts) speak(old)
    setTimeout(() => {
      contexts.push(ctx)
      if (contexts.length > 4) contexts.shift()
    }, 50)
    return 'done'
  })
  add('lets go of its stream', 'answers', async (ctx) => {
    ctx.detach()
    await pause(2)
    ctx.detach()
    return 'done'
  })
  add('asks', 'asks', async (ctx, mark) =>
    JSON.stringify(await ctx.elicit({ message: `Sure? ${mark}`, schema })),
  )
  add('asks three times at once', 'asks', async (ctx, mark) => {
    const asked = [1, 2, 3].map((place) => ctx.elicit({ message: `Sure ${place}? ${mark}`, schema }))
    return JSON.stringify(await Promise.race(asked))
  })
  add('asks and does not wait', 'answers', (ctx, mark) => {
    ctx.elicit({ message: `Sure? ${mark}`, schema })
    return 'done'
  })
  add('asks and throws', 'fails', async (ctx, mark) => {
    ctx.elicit({ message: `Sure? ${mark}`, schema })
    ctx.sample({ messages: [], maxTokens: 1 })
    throw new Error(secret)
  })
  add('asks in a step', 'asks', async (ctx, mark) => {
    await ctx.step('first', async () => pause())
    await ctx.elicit({ message: `Sure? ${mark}`, schema })
    return ctx.step('second', () => 'done')
  })

  return ways
}

/** Lets a value pass for one of another type, as code without types would. */
function passesFor<T>(_value: unknown): asserts _value is T {}

/** A tool with the behaviour that its caller names, one whose result has a schema, and one that keeps its slot. */
export function hardTools(ways: Ways, waitForRelease: () => Promise<string>) {
  const input = {
    type: 'object' as const,
    properties: { way: { type: 'string' as const }, mark: { type: 'string' as const } },
    required: ['way', 'mark'] as const,
  }
  const run = ({ way, mark }: { way: string; mark: string }, ctx: Context): never => {
    const result = ways.get(way)?.run(ctx, mark)
    passesFor<never>(result)
    return result
  }
  return {
    hard: tool({ input, run }),
    shaped: tool({ input, output: { type: 'object' }, run }),
    hold: tool({ run: waitForRelease }),
  }
}
