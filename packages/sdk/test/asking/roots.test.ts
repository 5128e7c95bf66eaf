import {
  ask,
  type Context,
  defineServer,
  inputRequired,
  prompt,
  protocolVersions,
  resource,
  template,
  tool,
} from '@jackfield/sdk'
import { type ConnectOptions, connect } from '@jackfield/sdk/client'
import { describe, expect, onTestFinished, test } from 'vitest'

const onError: unknown[] = []
/** What the tool `effects` did. */
const effects: unknown[] = []

async function optional(ctx: Context): Promise<string> {
  try {
    return (await ctx.roots()).map(({ uri }) => uri).join()
  } catch (error) {
    return `without roots: ${error instanceof Error ? error.message : error}`
  }
}

const server = defineServer({
  name: 'folders',
  version: '1.0.0',
  onError: (error) => onError.push(error),
  tools: {
    optional: tool({ run: (_args, ctx) => optional(ctx) }),
    needed: tool({ run: async (_args, ctx) => `${(await ctx.roots()).length} roots` }),
    effects: tool({
      async run(_args, ctx) {
        await optional(ctx)
        effects.push(ctx.meta['example.org/from'])
      },
    }),
    explicit: tool({
      run: (_args, ctx) =>
        ctx.answers['where'] === undefined ? inputRequired({ requests: { where: ask.roots() } }) : 'asked',
    }),
  },
  prompts: { optional: prompt({ run: (_args, ctx) => optional(ctx) }) },
  resources: {
    optional: resource({ uri: 'x:optional', read: optional }),
    needed: resource({ uri: 'x:needed', read: async (ctx) => `${(await ctx.roots()).length} roots` }),
    file: template({
      uriTemplate: 'x:file/{name}',
      read: () => '',
      complete: {
        name: async (value, ctx) => {
          const roots = await ctx.roots().catch((error: Error) => [{ uri: error.message }])
          return [
            value,
            ...roots.map(({ uri }) => uri),
            String(ctx.meta['example.org/from']),
            `${ctx.transport.kind}`,
          ]
        },
      },
    }),
  },
})

async function open(revision: (typeof protocolVersions)[number], options: ConnectOptions = {}) {
  const client = await connect(server, { revisions: [revision], ...options })
  onTestFinished(() => client.close())
  return client
}

const refusing: ConnectOptions = {
  onRoots: () => {
    throw new Error('The person refused.')
  },
}
const reads = async (client: Awaited<ReturnType<typeof open>>, uri: string) =>
  (await client.read(uri)).contents.map((one) => ('text' in one ? one.text : '')).join()
const textOf = ({ content }: { content: readonly { type: string; text?: string }[] }) => content[0]?.text

describe.each(protocolVersions)('roots on %s', (revision) => {
  const isSession = revision < '2026-07-28'

  test('a handler catches that the client has none', async () => {
    const client = await open(revision)
    const message =
      'without roots: This request needs a client capability that was not declared: roots. ' +
      'A client declares it with its handler for roots/list'
    expect(textOf(await client.call('optional'))).toBe(message)
    expect(await reads(client, 'x:optional')).toBe(message)
    const { messages } = await client.prompt('optional')
    expect(messages).toMatchObject([{ content: { text: message } }])
  })

  test('a handler that does not catch it fails as before', async () => {
    const client = await open(revision)
    for (const name of ['needed', 'explicit'] as const) {
      const called = client.call(name)
      if (isSession) expect(await called).toMatchObject({ isError: true })
      else await expect(called).rejects.toMatchObject({ code: -32021 })
    }
    await expect(client.read('x:needed')).rejects.toMatchObject({ code: isSession ? -32600 : -32021 })
    expect(onError).toEqual([])
  })

  test('a completion has the _meta and the transport of its request, and roots on a session', async () => {
    const client = await open(revision, { onRoots: () => [{ uri: 'file:///a' }] })
    const { values } = await client.complete(
      { ref: { type: 'ref/resource', uri: 'x:file/{name}' }, argument: { name: 'name', value: 'v' } },
      { meta: { 'example.org/from': 'here' } },
    )
    const roots = isSession ? 'file:///a' : expect.stringContaining('A completion cannot ask the client')
    expect(values).toEqual(['v', roots, 'here', 'undefined'])
  })
})

describe.each(protocolVersions.filter((revision) => revision < '2026-07-28'))('roots on %s', (revision) => {
  test('a handler catches that the client refuses', async () => {
    const client = await open(revision, refusing)
    expect(textOf(await client.call('optional'))).toMatch(
      /^without roots: The client did not answer roots\/list/,
    )
    expect(await reads(client, 'x:optional')).toMatch(/^without roots: The client did not answer/)
  })

  test.each(['cancelled', 'cut off'])(
    'a call that is %s while roots are requested gets no roots and continues',
    async (how) => {
      const cancel = new AbortController()
      let isAsked = false
      const client = await open(revision, {
        onRoots: () => {
          isAsked = true
          return new Promise(() => {})
        },
      })
      const call = client.call('effects', {}, { signal: cancel.signal })
      const ended = expect(call).rejects.toThrow()
      await expect.poll(() => isAsked).toBe(true)
      if (how === 'cancelled') cancel.abort()
      else await client.close()
      await ended
      // A later request is served after what the handler could still do.
      await (await open(revision)).read('x:file/a')
      expect(effects).toEqual([])
    },
  )
})
