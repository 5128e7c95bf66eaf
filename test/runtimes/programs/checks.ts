import { type ProtocolVersion, RpcError } from '@jackfield/sdk'
import { type Client, type ConnectOptions, connect, http } from '@jackfield/sdk/client'

// What a client must manage wherever it runs, with nothing but what browsers have.

/** The URLs of the servers, and one where none listens. */
export interface Targets {
  readonly url: string
  readonly locked: string
  readonly sse: string
  readonly elsewhere: string
  readonly unreachable: string
}

/** The outcome of one check. */
export interface Finding {
  readonly title: string
  readonly version: ProtocolVersion
  readonly got: unknown
  readonly expected: unknown
}

interface Meeting extends Targets {
  readonly version: ProtocolVersion
  connectTo(options?: ConnectOptions, target?: Parameters<typeof connect>[0]): Promise<Client>
}

interface Check {
  readonly title: string
  readonly expected: unknown
  readonly only?: ProtocolVersion
  run(context: Meeting): Promise<unknown>
}

const checks: readonly Check[] = [
  {
    title: 'lists and calls tools',
    expected: ['refund', 'Grüße 🎉'],
    async run({ connectTo }) {
      const client = await connectTo()
      const tools = await client.tools()
      return [
        tools.find(({ name }) => name === 'refund')?.name,
        await text(client, 'echo', { text: 'Grüße 🎉' }),
      ]
    },
  },
  {
    title: 'reads a response of a megabyte',
    expected: 'ü'.repeat(500_000).length,
    run: async ({ connectTo }) => (await text(await connectTo(), 'big')).length,
  },
  {
    title: 'refuses a response above its limit',
    expected: 'LIMIT',
    run: async ({ connectTo, url }) => {
      const client = await connectTo({}, http(url, { maxMessageBytes: 100_000 }))
      return failure(client.call('big'))
    },
  },
  {
    title: 'receives progress before the response',
    expected: [1, 'passed'],
    async run({ connectTo }) {
      const client = await connectTo()
      let open: (progress: number) => void = () => {}
      const firstProgress = new Promise<number>((resolve) => {
        open = resolve
      })
      const call = client.call('gate', {}, { onProgress: ({ progress }) => open(progress) })
      const first = await firstProgress
      await client.call('pass')
      const { content } = await call
      return [first, content[0]?.type === 'text' ? content[0].text : '']
    },
  },
  {
    title: "answers the server's question",
    expected: 'refunded 0',
    run: async ({ connectTo }) =>
      text(await connectTo({ onElicit: () => ({ action: 'accept', content: { ok: true } }) }), 'refund'),
  },
  {
    title: 'cancels a call, and the handler stops',
    expected: 'CANCELLED: stopped',
    async run({ connectTo }) {
      const client = await connectTo()
      const stop = new AbortController()
      const call = client.call('hang', {}, { signal: stop.signal, onProgress: () => stop.abort() })
      const how = await failure(call)
      for (let tries = 0; tries < 100; tries++) {
        const [hanging, stopped] = (await text(client, 'hangs')).split(' ')
        if (hanging === stopped) return `${how}: stopped`
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      return `${how}: still running`
    },
  },
  {
    title: 'cancels a call that takes too long',
    expected: 'TIMEOUT',
    run: async ({ connectTo }) =>
      failure((await connectTo()).call('gate', { quiet: true }, { timeoutMs: 300 })),
  },
  {
    title: 'is notified of changes',
    expected: { type: 'resource', uri: 'shop://orders' },
    async run({ connectTo }) {
      const client = await connectTo()
      let emit: (change: unknown) => void = () => {}
      const firstChange = new Promise((resolve) => {
        emit = resolve
      })
      await client.watch({ resourceSubscriptions: ['shop://orders'] }, (change) => emit(change))
      await client.call('touch')
      return firstChange
    },
  },
  {
    title: 'gets the error of an invalid call',
    expected: -32602,
    run: async ({ connectTo }) => failure((await connectTo()).call('unknown')),
  },
  {
    title: 'identifies itself to the server',
    expected: ['UNAUTHORIZED', 'ada'],
    async run({ connectTo, locked }) {
      const ada = http(locked, { headers: { authorization: 'Bearer ada' } })
      return [await failure(connectTo({}, locked)), await text(await connectTo({}, ada), 'whoami')]
    },
  },
  {
    title: 'reports that no server listens',
    expected: 'CONNECT_FAILED',
    run: ({ connectTo, unreachable }) => failure(connectTo({}, unreachable)),
  },
  {
    title: 'does not follow a redirect to another origin',
    expected: true,
    run: ({ connectTo, elsewhere }) =>
      connectTo({}, elsewhere).then(
        () => false,
        (error) => String(error).includes('redirects'),
      ),
  },
  {
    title: 'sends nothing after it was closed',
    expected: 'CONNECTION_CLOSED',
    async run({ connectTo }) {
      const client = await connectTo()
      await client.close()
      return failure(client.call('big'))
    },
  },
  {
    title: 'resumes a response whose stream was closed',
    only: '2025-11-25',
    expected: 'came back',
    run: async ({ connectTo }) => text(await connectTo(), 'detached'),
  },
  {
    title: 'falls back to HTTP+SSE',
    only: '2024-11-05',
    expected: 'heard',
    run: async ({ connectTo, sse }) => text(await connectTo({}, sse), 'echo', { text: 'heard' }),
  },
]

/** Runs every check, one after another, and returns the outcomes. */
export async function play(targets: Targets): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const check of checks) {
    const versions = check.only === undefined ? (['2026-07-28', '2025-11-25'] as const) : [check.only]
    for (const version of versions) {
      const { title, expected } = check
      findings.push({ title, version, expected, got: await make(check, version, targets) })
    }
  }
  return findings
}

async function make(check: Check, version: ProtocolVersion, targets: Targets): Promise<unknown> {
  const clients: Client[] = []
  const connectTo: Meeting['connectTo'] = async (options = {}, target = targets.url) => {
    const client = await connect(target, { ...options, revisions: [version] })
    clients.push(client)
    return client
  }
  try {
    return await check.run({ ...targets, version, connectTo })
  } catch (error) {
    return `failed: ${error instanceof Error ? (error.stack ?? error.message) : error}`
  } finally {
    for (const client of clients) await client.close()
  }
}

async function text(client: Client, tool: string, args: Record<string, unknown> = {}): Promise<string> {
  const { content } = await client.call(tool, args)
  const [first] = content
  return first?.type === 'text' ? first.text : ''
}

/** The code or name of what a promise rejects with. */
async function failure(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise
    return 'no failure'
  } catch (error) {
    if (error instanceof RpcError) return error.code
    if (!(error instanceof Error)) return String(error)
    return 'code' in error && typeof error.code === 'string' ? error.code : error.name
  }
}
