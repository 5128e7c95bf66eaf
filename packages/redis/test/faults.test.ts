import { createServer } from 'node:net'
import { inspect } from 'node:util'
import { type RedisBackplane, type RedisOptions, redisBackplane } from '@jackfield/redis'
import { McpError } from '@jackfield/sdk'
import { createClient } from '@redis/client'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { forgetsNothing, isThere, left, RedisServer } from './support/redis-server.ts'

const hour = 3_600_000
/** Far more than anything here takes, on a machine that does other things too. */
const watchdog = { timeout: 30_000, interval: 20 }

async function open(options: RedisOptions): Promise<{ plane: RedisBackplane; warnings: string[] }> {
  const warnings: string[] = []
  const plane = await redisBackplane({ onWarning: (message) => warnings.push(message), ...options })
  onTestFinished(() => plane.close())
  return { plane, warnings }
}

async function failure(work: Promise<unknown>): Promise<McpError> {
  const error = await work.then(
    () => undefined,
    (error) => error,
  )
  if (!(error instanceof McpError)) throw new Error(`No McpError: ${inspect(error)}`)
  return error
}

/** The secrets of a URL must not appear in errors or logs. */
function expectNoSecret(seen: unknown, ...secrets: string[]): void {
  for (const secret of secrets) expect(inspect(seen, { depth: 10, showHidden: true })).not.toContain(secret)
}

describe.skipIf(!isThere)(`a backplane whose Redis fails${left}`, { timeout: 60_000 }, () => {
  it('reports at the start that Redis is unreachable, with advice', async () => {
    const server = await RedisServer.start()
    await server.kill()
    const error = await failure(redisBackplane({ url: `redis://me:hunter%402@127.0.0.1:${server.port}` }))
    expect(error.code).toBe('CONNECT_FAILED')
    expect(error.message).toMatch(
      new RegExp(`^Redis at 127.0.0.1:${server.port} cannot be reached .*ECONNREFUSED.* Check that it runs`),
    )
    expectNoSecret(error, 'hunter')
  })

  it('never shows the password of its URL', async () => {
    const server = await RedisServer.start('--requirepass', 'sesame')
    for (const url of [
      `redis://:hunter%402@127.0.0.1:${server.port}`,
      'redis://:hunter%402@127.0.0.1:0x:9',
      'http://:hunter%402@127.0.0.1/',
      'hunter@2',
    ]) {
      const error = await failure(redisBackplane({ url }))
      expect(error.message).not.toBe('')
      expectNoSecret(error, 'hunter')
    }
    const { plane, warnings } = await open({
      url: `redis://:sesame@127.0.0.1:${server.port}`,
      timeoutMs: 1000,
    })
    const admin = createClient({ url: server.url, password: 'sesame' })
    await admin.connect()
    await admin.sendCommand(['CONFIG', 'SET', 'requirepass', 'other'])
    await admin.sendCommand(['CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'])
    await admin.sendCommand(['CLIENT', 'KILL', 'TYPE', 'pubsub'])
    admin.destroy()
    await vi.waitFor(() => expect(warnings).toHaveLength(2), watchdog)
    expectNoSecret([warnings, await failure(plane.get('k'))], 'sesame')
  })

  it('does not show the password if a server repeats it', async () => {
    const server = createServer((socket) => {
      socket.on('error', () => {})
      socket.on('data', () =>
        socket.write('-ERR unknown command `HELLO`, with args: `3` `AUTH` `me` `hunter@2`\r\n'),
      )
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      server.close()
    })
    const address = server.address()
    const port = typeof address === 'object' ? address?.port : undefined
    const error = await failure(redisBackplane({ url: `redis://me:hunter%402@127.0.0.1:${port}` }))
    expect(error.message).toContain('unknown command `HELLO`')
    expectNoSecret(error, 'hunter')
  })

  it('waits while Redis restarts, and continues with the stored data', async () => {
    const server = await RedisServer.start(...forgetsNothing)
    const { plane } = await open({ url: server.url })
    await plane.set('k', 'kept', hour)
    const one = await plane.append('log', 'one', 10, hour)
    await server.kill()
    const waiting = plane.get('k').catch((error) => error)
    await server.restart()
    expect(await waiting).toBe('kept')
    await plane.append('log', 'two', 10, hour, one)
    expect((await plane.read('log', one))?.map(({ entry }) => entry)).toEqual(['one', 'two'])
    expect(await plane.add('k', 'again', hour)).toBe(false)
  })

  it('loads its scripts again into a Redis that lost them', async () => {
    const server = await RedisServer.start()
    const { plane } = await open({ url: server.url })
    const one = await plane.append('log', 'one', 10, hour)
    await server.ask('SCRIPT', 'FLUSH')
    await plane.append('log', 'two', 10, hour)
    expect((await plane.read('log', one))?.map(({ entry }) => entry)).toEqual(['one', 'two'])
  })

  it('reads values one by one for a user who may not read several with one command', async () => {
    const server = await RedisServer.start()
    const { plane: admin } = await open({ url: server.url })
    const keys = Array.from({ length: 20 }, (_, at) => `k${at}`)
    await Promise.all(keys.map((key) => admin.set(key, `value of ${key}`, hour)))
    await server.ask('ACL', 'SETUSER', 'app', 'on', '>sesame', 'allkeys', 'allchannels', '+@all', '-mget')
    const { plane } = await open({ url: server.url.replace('//', '//app:sesame@') })
    for (let round = 0; round < 2; round++) {
      const read = await Promise.all(keys.map((key) => plane.get(key)))
      expect(read).toEqual(keys.map((key) => `value of ${key}`))
    }
  })

  it('closes after the reads that it began', async () => {
    const server = await RedisServer.start()
    const plane = await redisBackplane({ url: server.url })
    await plane.set('k', 'v', hour)
    const reads = ['k', 'absent', 'k'].map((key) => plane.get(key))
    await plane.close()
    expect(await Promise.all(reads)).toEqual(['v', undefined, 'v'])
    expect((await failure(plane.get('k'))).code).toBe('CONNECTION_CLOSED')
  })

  it('fails in time while Redis is unavailable, then at once, and recovers with it', async () => {
    const server = await RedisServer.start()
    const { plane, warnings } = await open({ url: server.url, timeoutMs: 1500 })
    await server.kill()
    const first = await failure(plane.set('k', 'v', hour))
    expect(first.message).toMatch(/^Redis at 127\.0\.0\.1:\d+ (is disconnected|was lost)/)
    await vi.waitFor(
      async () => expect((await failure(plane.get('k'))).code).toBe('CONNECT_FAILED'),
      watchdog,
    )
    // While an attempt to reconnect is under way, calls wait for it.
    const many = await vi.waitFor(() => {
      const soon = Array.from({ length: 20 }).reduce<Promise<unknown>>(
        (turns) => turns.then(() => new Promise(setImmediate)),
        Promise.resolve(),
      )
      return Promise.race([
        Promise.all(Array.from({ length: 100 }, () => failure(plane.get('k')))),
        soon.then(() => Promise.reject(new Error('not at once'))),
      ])
    }, watchdog)
    expect(new Set(many.map(({ code }) => code))).toEqual(new Set(['CONNECT_FAILED']))
    expect(many[0]?.message).toMatch(/is disconnected .*and the command was not sent.*try again later/)
    await server.restart()
    await vi.waitFor(async () => expect(await plane.add('k', 'v', hour)).toBe(true), watchdog)
    await vi.waitFor(() => expect(warnings.filter((one) => /is back/.test(one))).toHaveLength(2), watchdog)
    expect(warnings.filter((one) => /was lost for/.test(one))).toHaveLength(2)
  })

  it('disconnects from a Redis that does not respond, and reconnects when it does', async () => {
    const server = await RedisServer.start()
    const { plane } = await open({ url: server.url, timeoutMs: 1500 })
    await plane.set('k', 'v', hour)
    server.pause()
    const failures = await Promise.all([
      failure(plane.get('k')),
      failure(plane.add('new', 'v', hour)),
      failure(plane.append('log', 'v', 5, hour)),
      failure(plane.publish('topic', 'm')),
    ])
    // The first one that is late ends the connection of the others. A read is then tried again, in vain.
    const late = failures.find(({ code }) => code === 'TIMEOUT')
    expect(late?.message).toMatch(/did not answer \w+ within 1500 ms, so it may or may not have run/)
    const [read, ...writes] = failures.map(({ code }) => code)
    expect(['TIMEOUT', 'CONNECTION_CLOSED', 'CONNECT_FAILED']).toContain(read)
    for (const code of writes) expect(['TIMEOUT', 'CONNECTION_CLOSED']).toContain(code)
    expect((await failure(plane.get('k'))).code).toBe('CONNECT_FAILED')
    server.resume()
    await vi.waitFor(async () => expect(await plane.get('k')).toBe('v'), watchdog)
  })

  it('limits the number of concurrent commands', async () => {
    const server = await RedisServer.start()
    const { plane } = await open({ url: server.url, timeoutMs: 60_000 })
    server.pause()
    const all = Array.from({ length: 10_050 }, () => plane.get('k').catch(({ code }) => code))
    const refused = await Promise.all(all.slice(10_000))
    expect(new Set(refused)).toEqual(new Set(['LIMIT']))
    server.resume()
    expect(new Set(await Promise.all(all.slice(0, 10_000)))).toEqual(new Set([undefined]))
  })

  it('notifies subscribers that messages may be lost, and resubscribes exactly to the remaining topics', async () => {
    const server = await RedisServer.start()
    const { plane } = await open({ url: server.url, timeoutMs: 2000 })
    const received: string[] = []
    await plane.subscribe(
      'kept',
      (message) => received.push(message),
      () => received.push('lost'),
    )
    await plane.subscribe('kept', (message) => received.push(`second ${message}`))
    const unsubscribe = await plane.subscribe(
      'left',
      () => received.push('never'),
      () => received.push('never lost'),
    )
    await server.kill()
    unsubscribe()
    await server.restart()
    await vi.waitFor(() => expect(received).toEqual(['lost']), watchdog)
    await plane.publish('left', 'x')
    await plane.publish('kept', 'again')
    await vi.waitFor(() => expect(received).toEqual(['lost', 'again', 'second again']), watchdog)
    const channels = await server.ask('PUBSUB', 'CHANNELS')
    expect(channels).toEqual(['jackfield:t:kept'])
  })

  it('activates a subscription made while Redis is unavailable', async () => {
    const server = await RedisServer.start()
    const { plane } = await open({ url: server.url, timeoutMs: 20_000 })
    await server.kill()
    const received: string[] = []
    const coming = plane.subscribe('topic', (message) => received.push(message))
    await server.restart()
    await coming
    await plane.publish('topic', 'here')
    await vi.waitFor(() => expect(received).toEqual(['here']), watchdog)
  })

  it('rejects a listener in time while Redis is unavailable', async () => {
    const server = await RedisServer.start()
    const { plane } = await open({ url: server.url, timeoutMs: 300 })
    await server.kill()
    const { code } = await failure(plane.subscribe('topic', () => {}))
    expect(['CONNECT_FAILED', 'CONNECTION_CLOSED']).toContain(code)
  })

  it('continues after a listener that throws', async () => {
    const server = await RedisServer.start()
    const { plane, warnings } = await open({ url: server.url })
    const received: string[] = []
    await plane.subscribe('topic', () => {
      throw new Error('my fault')
    })
    await plane.subscribe('topic', (message) => received.push(message))
    await plane.publish('topic', 'hello')
    await vi.waitFor(() => expect(received).toEqual(['hello']), watchdog)
    expect(warnings).toEqual(['A message listener failed: my fault'])
  })

  it('reports errors of Redis', async () => {
    const server = await RedisServer.start('--maxmemory', '1', '--maxmemory-policy', 'noeviction')
    const { plane } = await open({ url: server.url })
    const error = await failure(plane.set('k', 'v', hour))
    expect(error.code).toBe('LIMIT')
    expect(error.message).toMatch(/^Redis at 127\.0\.0\.1:\d+ rejected SET: OOM command not allowed/)
  })

  it('refuses values that it could not return unchanged, and values larger than 64 MiB', async () => {
    const server = await RedisServer.start()
    const { plane } = await open({ url: server.url })
    expect((await failure(plane.set('k', '\ud800', hour))).code).toBe('INVALID')
    expect((await failure(plane.get('\udc00'))).code).toBe('INVALID')
    const error = await failure(plane.append('log', 'x'.repeat(64 * 2 ** 20 + 1), 5, hour))
    expect(error).toMatchObject({ code: 'LIMIT', message: expect.stringMatching(/more than 67108864 bytes/) })
  })

  it('finishes running operations when it is closed, and rejects later ones', async () => {
    const server = await RedisServer.start()
    const { plane } = await open({ url: server.url })
    await plane.subscribe('topic', () => {})
    const under = Array.from({ length: 200 }, (_, at) => plane.append('log', `e${at}`, 1000, hour))
    const closing = plane.close()
    expect(new Set(await Promise.all(under)).size).toBe(200)
    await closing
    await plane.close()
    for (const work of [plane.get('k'), plane.publish('t', 'm'), plane.subscribe('t', () => {})]) {
      expect(await failure(work)).toMatchObject({ code: 'CONNECTION_CLOSED' })
    }
    await vi.waitFor(async () => {
      const list = String(await server.ask('CLIENT', 'LIST'))
        .trim()
        .split('\n')
      expect(list).toHaveLength(1)
    }, watchdog)
  })

  it('does not use or close the client whose options it copies', async () => {
    const server = await RedisServer.start()
    const client = createClient({ url: server.url })
    await client.connect()
    onTestFinished(() => client.destroy())
    const { plane } = await open({ client })
    await plane.set('k', 'v', hour)
    await plane.close()
    expect(await client.get('jackfield:v:k')).toBe('v')
  })
})

describe.runIf(isThere)(`a Redis that may evict keys${left}`, () => {
  const noCommand = (command: string) => ['--rename-command', command, '']

  it.each([
    ['allkeys-lru', []],
    ['volatile-ttl', []],
    ['allkeys-lru', noCommand('CONFIG')],
  ])('is warned of at the start, with %s and %j', async (policy, args) => {
    const server = await RedisServer.start('--maxmemory-policy', policy, ...args)
    for (const RESP of [2, 3] as const) {
      const { warnings } = await open({ client: createClient({ url: server.url, RESP }) })
      expect(warnings).toEqual([
        expect.stringMatching(
          new RegExp(`has the maxmemory-policy ${policy}.* Set maxmemory-policy to noeviction`),
        ),
      ])
    }
  })

  it('is warned of if its policy cannot be read', async () => {
    const server = await RedisServer.start(...noCommand('CONFIG'), ...noCommand('INFO'))
    const { plane, warnings } = await open({ url: server.url })
    expect(warnings).toEqual([
      expect.stringContaining('does not report its maxmemory-policy. Make sure that it is noeviction'),
    ])
    expect(await plane.add('k', 'v', 1_000)).toBe(true)
  })

  it('causes no warning with noeviction', async () => {
    const server = await RedisServer.start(...noCommand('CONFIG'))
    expect((await open({ url: server.url })).warnings).toEqual([])
  })
})
