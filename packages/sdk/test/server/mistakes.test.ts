import {
  defineServer,
  McpError,
  prompt,
  protocolVersions,
  resource,
  type Server,
  template,
  tool,
} from '@jackfield/sdk'
import { connect, http, type Round } from '@jackfield/sdk/client'
import { socket } from '@jackfield/sdk/client/socket'
import { stdio } from '@jackfield/sdk/client/stdio'
import { compose, proxy } from '@jackfield/sdk/compose'
import { tasks } from '@jackfield/sdk/extensions/tasks'
import { serveHttp } from '@jackfield/sdk/http'
import { serveSocket } from '@jackfield/sdk/socket'
import { serveStdio } from '@jackfield/sdk/stdio'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { DuplexConnection } from '../../src/transports/server/duplex-connection.ts'

const base = { name: 'shop', version: '1.0.0' }
const run = () => 'done'
const read = () => 'text'

/** The message a definition is refused with, written as JavaScript would: without its type being looked at. */
function refusal(define: () => unknown): string {
  try {
    define()
  } catch (error) {
    expect(error).toBeInstanceOf(McpError)
    expect(error).toHaveProperty('code', 'INVALID')
    return error instanceof Error ? error.message : ''
  }
  return 'accepted'
}

describe('a definition that can never work is rejected with a correction', () => {
  test.each<[string, () => unknown, string]>([
    [
      'the name of the schema elsewhere',
      // @ts-expect-error it is "input"
      () => defineServer({ ...base, tools: { t: tool({ inputSchema: z.object({}), run }) } }),
      'Tool "t" has an unknown member "inputSchema": the schema of the arguments is "input"',
    ],
    [
      'the name of the output schema elsewhere',
      // @ts-expect-error it is "output"
      () => defineServer({ ...base, tools: { t: tool({ outputSchema: z.object({}), run }) } }),
      'Tool "t" has an unknown member "outputSchema": the schema of the result is "output"',
    ],
    [
      'a handler of another name',
      // @ts-expect-error it is "run"
      () => defineServer({ ...base, tools: { t: tool({ handler: run }) } }),
      'Tool "t" has an unknown member "handler": the function that serves a call is "run"',
    ],
    [
      'a handler called execute',
      // @ts-expect-error it is "run"
      () => defineServer({ ...base, prompts: { p: prompt({ execute: run }) } }),
      'Prompt "p" has an unknown member "execute": the function that serves a request for it is "run"',
    ],
    [
      'no handler',
      // @ts-expect-error "run" is needed
      () => defineServer({ ...base, tools: { t: tool({}) } }),
      'Tool "t" needs "run", the function that serves a call',
    ],
    [
      'no reader',
      // @ts-expect-error "read" is needed
      () => defineServer({ ...base, resources: { r: resource({ uri: 'x:1' }) } }),
      'Resource "r" needs "read", the function that serves a read',
    ],
    [
      'a resource with a template',
      // @ts-expect-error it is template()
      () => defineServer({ ...base, resources: { r: resource({ uriTemplate: 'x:{a}', read }) } }),
      'Resource "r" has a "uriTemplate": define it with template()',
    ],
    [
      'a template with a URI',
      // @ts-expect-error it is "uriTemplate"
      () => defineServer({ ...base, resources: { r: template({ uri: 'x:{a}', read }) } }),
      'Template "r" has a "uri": name its URI template in "uriTemplate", or define it with resource()',
    ],
    [
      'an unknown member',
      // @ts-expect-error there is no such member
      () => defineServer({ ...base, tools: { t: tool({ colour: 'red', run }) } }),
      'Tool "t" has an unknown member "colour": use one of kind, title, description',
    ],
    [
      'tools under another name',
      // @ts-expect-error it is "tools"
      () => defineServer({ ...base, tool: { t: tool({ run }) } }),
      'Server "shop" has an unknown member "tool": tools are "tools"',
    ],
    [
      'tools added under another name',
      // @ts-expect-error it is "tools"
      () => defineServer(base).add({ tool: { t: tool({ run }) } }),
      'What is added to server "shop" has an unknown member "tool": tools are "tools"',
    ],
    [
      'a number as the argument of a prompt',
      () =>
        defineServer({ ...base, prompts: { p: prompt({ input: z.object({ n: z.number().min(5) }), run }) } }),
      'Prompt "p": input: the argument "n" is of type "number", but the arguments of a prompt are strings',
    ],
    [
      'a boolean as the argument of a prompt',
      () => defineServer({ ...base, prompts: { p: prompt({ input: { b: z.boolean() }, run }) } }),
      'Prompt "p": input: the argument "b" is of type "boolean"',
    ],
    [
      'an integer as the argument of a prompt, in JSON Schema',
      () =>
        defineServer({
          ...base,
          prompts: { p: prompt({ input: { type: 'object', properties: { n: { type: 'integer' } } }, run }) },
        }),
      'Prompt "p": input: the argument "n" is of type "integer"',
    ],
    [
      'a tool that only runs as a task, without tasks',
      () => defineServer({ ...base, tools: { t: tool({ task: 'required', run }) } }),
      `Tool "t" has "task: 'required'", but the server has no tasks: add the extension tasks()`,
    ],
    [
      'the same, added later',
      () => defineServer(base).add({ tools: { t: tool({ task: 'required', run }) } }),
      `Tool "t" has "task: 'required'"`,
    ],
    [
      'an input of names and types',
      // @ts-expect-error neither a shape nor JSON Schema
      () => defineServer({ ...base, tools: { t: tool({ input: { a: 'string' }, run }) } }),
      'Tool "t": input: "a" is neither a keyword of JSON Schema nor a member with a schema: write { a: z.string() }',
    ],
    [
      'an input of names and descriptions',
      () =>
        defineServer({ ...base, tools: { t: tool({ input: { city: { description: 'A city' } }, run }) } }),
      'Tool "t": input: "city" is neither a keyword of JSON Schema nor a member with a schema',
    ],
    [
      'an output of names and types',
      () => {
        // @ts-expect-error neither a shape nor JSON Schema
        const t = tool({ output: { a: 'string' }, run: () => ({ a: '' }) })
        return defineServer({ ...base, tools: { t } })
      },
      'Tool "t": output: "a" is neither a keyword',
    ],
    [
      'a list of tools',
      // @ts-expect-error tools have names
      () => defineServer({ ...base, tools: [tool({ run })] }),
      'Server "shop": "tools" must be an object of definitions by name, not an array: write tools: { name: tool(…) }',
    ],
    [
      'a list of tools added later',
      // @ts-expect-error tools have names
      () => defineServer(base).add({ tools: [tool({ run })] }),
      '"tools" must be an object of definitions by name, not an array',
    ],
    [
      'a tool that is undefined',
      // @ts-expect-error as JavaScript may call it
      () => defineServer({ ...base, tools: { t: undefined } }),
      '"t" must be made by tool(), not be undefined',
    ],
    [
      'a resource with a URI template as its URI',
      () => defineServer({ ...base, resources: { r: resource({ uri: 'x://{id}', read }) } }),
      `Resource "r" has a URI template in "uri": define it with template({ uriTemplate: 'x://{id}', … })`,
    ],
    [
      'tools removed under another name',
      // @ts-expect-error it is "tools"
      () => defineServer(base).remove({ tool: ['t'] }),
      'has an unknown member "tool": tools are "tools"',
    ],
    [
      'a date as an argument',
      () => defineServer({ ...base, tools: { t: tool({ input: { day: z.date() }, run }) } }),
      'JSON has neither dates nor BigInts: use a string or a number, such as z.iso.datetime()',
    ],
    [
      'a BigInt as an argument',
      () => defineServer({ ...base, tools: { t: tool({ input: z.object({ n: z.bigint() }), run }) } }),
      'JSON has neither dates nor BigInts',
    ],
  ])('%s', (_, define, why) => {
    expect(refusal(define)).toContain(why)
  })

  test('JSON Schema without a keyword that restricts values is accepted', () => {
    const inputs: Record<string, unknown>[] = [
      {},
      { title: 'Anything' },
      { $schema: 'https://json-schema.org/draft/2020-12/schema' },
    ]
    for (const input of inputs) {
      expect(refusal(() => defineServer({ ...base, tools: { t: tool({ input, run }) } }))).toBe('accepted')
    }
  })

  test('arguments of a prompt that convert text are accepted', () => {
    const input = z.object({
      n: z.coerce.number().min(5),
      on: z.stringbool(),
      day: z.enum(['mon', 'tue']).optional(),
      any: z.unknown(),
    })
    expect(refusal(() => defineServer({ ...base, prompts: { p: prompt({ input, run }) } }))).toBe('accepted')
  })

  test('a tool that only runs as a task is accepted with tasks', () => {
    const tools = { t: tool({ task: 'required', run }) }
    expect(refusal(() => defineServer({ ...base, tools, extensions: [tasks()] }))).toBe('accepted')
  })
})

describe('a kind of definition that is not declared to connected clients', () => {
  test('is rejected by add once a client is connected, with the definition to add', async () => {
    const server = defineServer(base)
    const client = await connect(server)
    onTestFinished(() => client.close())
    const refused = refusal(() => server.add({ tools: { t: tool({ run }) } }))
    expect(refused).toContain('Server "shop" was defined without tools')
    expect(refused).toContain('Define it with "tools: {}"')
  })

  test.each(['2025-11-25', '2026-07-28'] as const)(
    'can be added to where it was defined empty, for a client of %s that is connected',
    async (revision) => {
      const server: Server = defineServer({ ...base, tools: {}, prompts: {}, resources: {} })
      const client = await connect(server, { revisions: [revision] })
      onTestFinished(() => client.close())
      expect(await client.tools()).toEqual([])
      server.add({
        tools: { t: tool({ run }) },
        prompts: { p: prompt({ run }) },
        resources: { r: resource({ uri: 'x:1', read }) },
      })
      expect(await client.call('t')).toMatchObject({ content: [{ text: 'done' }] })
      expect((await client.tools({ cache: 'refresh' })).map(({ name }) => name)).toEqual(['t'])
      expect((await client.prompt('p')).messages).toHaveLength(1)
      expect((await client.read('x:1')).contents).toHaveLength(1)
    },
  )
})

describe('options that can never work are rejected at once', () => {
  const server = defineServer(base)
  const quiet = { onWarning: () => {} }

  test.each<[string, () => unknown, string]>([
    [
      'a misspelled authenticate',
      // @ts-expect-error it is "authenticate"
      () => serveHttp(server, { ...quiet, authentication: () => {} }),
      'The options object of serveHttp has an unknown member "authentication": did you mean "authenticate"?',
    ],
    // @ts-expect-error it is "sessions"
    ['session', () => serveHttp(server, { ...quiet, session: 'none' }), 'did you mean "sessions"?'],
    [
      'a limit of no such name',
      // @ts-expect-error it is "messageBytes"
      () => serveHttp(server, { ...quiet, limits: { messagesBytes: 1 } }),
      '"limits" has an unknown member "messagesBytes": did you mean "messageBytes"?',
    ],
    [
      'an option of serveHttp by its earlier name',
      // @ts-expect-error it is "dangerouslyAcceptUnsentQuestions"
      () => serveHttp(defineServer(base), { acceptUnaskedAnswers: true }),
      'The options object of serveHttp has an unknown member "acceptUnaskedAnswers": it is now "dangerouslyAcceptUnsentQuestions"',
    ],
    // @ts-expect-error it is "keys"
    ['key of serveStdio', () => serveStdio(server, { key: 'x' }), 'did you mean "keys"?'],
    // @ts-expect-error it is "headers"
    ['header of http', () => http('http://localhost/mcp', { header: {} }), 'did you mean "headers"?'],
    [
      'requestInit of http',
      // @ts-expect-error it is "headers"
      () => http('http://localhost/mcp', { requestInit: {} }),
      'headers for every request are "headers"',
    ],
    // @ts-expect-error it is "path"
    ['a socket path', () => socket({ pathh: '/tmp/x' }), 'did you mean "path"?'],
    // @ts-expect-error it is "store"
    ['a store of tasks', () => tasks({ stores: undefined, store_: {} }), 'did you mean "store"?'],
    [
      'prefixes of compose',
      // @ts-expect-error it is "servers"
      () => compose({ ...base, servers: {}, seperator: '_' }),
      'did you mean "separator"?',
    ],
    [
      'a port of serveHttp',
      // @ts-expect-error it belongs to listen
      () => serveHttp(server, { ...quiet, port: 3000 }),
      'serveHttp(server).listen({ port, host })',
    ],
  ])('unknown: %s', (_, make, why) => {
    expect(refusal(make)).toContain(why)
  })

  test.each<[string, () => unknown, string]>([
    // @ts-expect-error as JavaScript may call it
    ['no definition of a server', () => defineServer(), 'defineServer takes an object with "name"'],
    // @ts-expect-error as JavaScript may call it
    ['extensions by name', () => defineServer({ ...base, extensions: {} }), 'must be a list of extensions'],
    // @ts-expect-error as JavaScript may call it
    ['an extension not called', () => defineServer({ ...base, extensions: [tasks] }), 'not of a function'],
    [
      'a resource without a URI',
      // @ts-expect-error as JavaScript may call it
      () => defineServer({ ...base, resources: { r: resource({ read }) } }),
      'needs an absolute URI as its "uri", not undefined',
    ],
    // @ts-expect-error as JavaScript may call it
    ['a composition of no servers', () => compose(base), '"servers" of compose must be an object'],
    ['a negative limit', () => serveHttp(server, { limits: { messageBytes: -1 } }), '"messageBytes" must be'],
    // @ts-expect-error as JavaScript may call it
    ['a limit as text', () => serveHttp(server, { limits: { messageBytes: '9' } }), 'must be a number'],
    // @ts-expect-error as JavaScript may call it
    ['arguments as one text', () => stdio({ command: 'node', args: '-v' }), '"args", its arguments'],
  ])('%s', (_, make, why) => {
    expect(refusal(make)).toContain(why)
  })

  test('a limit that is undefined is the default', async () => {
    const limits = { messageBytes: undefined }
    // @ts-expect-error as JavaScript may call it
    const { fetch, close } = serveHttp(server, { ...quiet, limits })
    onTestFinished(close)
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    const body = `"${'x'.repeat(4_194_304)}"`
    const { status } = await fetch(new Request('http://localhost/mcp', { method: 'POST', headers, body }))
    expect(status).toBe(413)
  })

  test.each([
    ['headers', 'connect(http(url, { … }))'],
    ['auth', 'connect(http(url, { … }))'],
    ['clientInfo', 'are "info"'],
    ['capabilities', 'follow from the handlers'],
    ['onElicitation', 'the handler is "onElicit"'],
    ['onSampling', 'the handler is "onSample"'],
  ])('%s of connect', async (name, why) => {
    await expect(connect(server, { [name]: {} })).rejects.toThrow(why)
  })

  test('arguments of the functions of a handler that they cannot use', async () => {
    const { fetch, node, listen, close } = serveHttp(server, quiet)
    // @ts-expect-error as JavaScript may call it
    expect(() => fetch({ url: '/mcp', headers: {} })).toThrow('handler.fetch takes a web Request')
    // @ts-expect-error as JavaScript may call it
    expect(() => node(new Request('http://localhost/mcp'))).toThrow('of node:http')
    await close()
    await expect(listen(0)).rejects.toThrow('this handler was closed')
  })

  test.each(protocolVersions)('arguments of functions of a client on %s', async (revision) => {
    const watched = defineServer({ ...base, tools: {} })
    const client = await connect(watched, { revisions: [revision] })
    // @ts-expect-error as JavaScript may call it
    await expect(client.watch({ tools: true })).rejects.toThrow('The filter of watch has an unknown member')
    // @ts-expect-error as JavaScript may call it
    await expect(client.setLogLevel('loud')).rejects.toThrow('Use one of debug')
    await client.close()
    await expect(client.request('tools/list')).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' })
    if (revision === '2026-07-28') {
      const closed = client.watch({ toolsListChanged: true })
      await expect(closed).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' })
    }
  })

  test.each(protocolVersions)('arguments of functions of a context on %s', async (revision) => {
    const reports: string[] = []
    const odd = defineServer({
      ...base,
      onError: (error) => reports.push(String(error)),
      tools: {
        // @ts-expect-error as JavaScript may call it
        elicit: tool({ run: async (_, ctx) => (await ctx.elicit('Sure?')).action }),
        // @ts-expect-error as JavaScript may call it
        sample: tool({ run: async (_, ctx) => (await ctx.sample({ maxTokens: 5 })).model }),
        // @ts-expect-error as JavaScript may call it
        step: tool({ run: async (_, ctx) => ctx.step(() => 'x') }),
      },
    })
    const client = await connect(odd, {
      revisions: [revision],
      onElicit: () => ({ action: 'cancel' }),
      onSample: () => ({ role: 'assistant', model: 'm', content: { type: 'text', text: '' } }),
    })
    onTestFinished(() => client.close())
    for (const name of ['elicit', 'sample', 'step'] as const) await client.call(name)
    expect(reports).toEqual([
      expect.stringContaining('A question needs a "schema"'),
      expect.stringContaining('"messages" must be a list of messages'),
      expect.stringContaining('ctx.step takes a name, and the function'),
    ])
  })

  test('unknown options of functions that return a promise', async () => {
    // @ts-expect-error it is "backplane"
    await expect(serveSocket(server, { port: 0 }, { backPlanes: {} })).rejects.toThrow(
      'did you mean "backplane"?',
    )
    // @ts-expect-error it is "timeoutMs"
    await expect(connect(server, { timeout: 5 })).rejects.toThrow('did you mean "timeoutMs"?')
    // @ts-expect-error it is "onRoots"
    await expect(connect(server, { onRoot: [] })).rejects.toThrow('did you mean "onRoots"?')
    // @ts-expect-error it is "targetFor"
    await expect(proxy(server, { targetsFor: () => {} })).rejects.toThrow('did you mean "targetFor"?')
    // @ts-expect-error it is "host"
    await expect(serveHttp(server, quiet).listen({ hostname: '::1' })).rejects.toThrow('did you mean "host"?')
  })

  test('a number passed to listen is the port', async () => {
    const free = await serveHttp(server, quiet).listen(0)
    await free.close()
    const listener = await serveHttp(server, quiet).listen(free.port)
    onTestFinished(() => listener.close())
    expect(listener.port).toBe(free.port)
  })

  test.each([99_999, -1, 1.5, Number.NaN, '3000', null])('port %s', async (port) => {
    const why = {
      code: 'INVALID',
      message: expect.stringContaining('must be a whole number from 0 to 65535'),
    }
    // @ts-expect-error as JavaScript may call it
    await expect(serveHttp(server, quiet).listen({ port })).rejects.toMatchObject(why)
    // @ts-expect-error as JavaScript may call it
    await expect(serveSocket(server, { port })).rejects.toMatchObject(why)
  })

  test('allowedHosts that is one string', () => {
    // @ts-expect-error as JavaScript may call it
    expect(() => serveHttp(server, { ...quiet, allowedHosts: 'mcp.example.com' })).toThrow(
      `"allowedHosts" must be a list, not one string: write allowedHosts: ['mcp.example.com']`,
    )
    // @ts-expect-error as JavaScript may call it
    expect(() => serveHttp(server, { ...quiet, allowedOrigins: 'https://a.b' })).toThrow(
      '"allowedOrigins" must be a list',
    )
  })

  test('no keys in the list count as none: every connection of a socket opens the states of the others', async () => {
    const asking = defineServer({
      ...base,
      tools: {
        ask: tool({
          run: async (_, ctx) => (await ctx.elicit({ message: 'Sure?', schema: z.object({}) })).action,
        }),
      },
    })
    const served = await serveSocket(asking, { port: 0 }, { keys: [] })
    onTestFinished(() => served.close())
    const { address } = served
    if (!('port' in address)) throw new Error('no port')
    const open = async () => {
      const client = await connect(socket(address), { onElicit: () => ({ action: 'accept', content: {} }) })
      onTestFinished(() => client.close())
      return client
    }
    const [one, other] = [await open(), await open()]
    const asked = await one.call('ask', {}, { relay: { capabilities: { elicitation: { form: {} } } } })
    expect(asked).toHaveProperty('requestState')
    const round: Round = JSON.parse(JSON.stringify(asked))
    expect(await other.call('ask', {}, { resume: round })).toMatchObject({ content: [{ text: 'accept' }] })
  })

  test.each<[string, unknown, string]>([
    [
      'a missing environment variable',
      [undefined],
      '"keys[0]" is undefined (is its environment variable set?)',
    ],
    ['one string', 'k'.repeat(32), '"keys" must be a list of secrets, not one string: write keys: [secret]'],
    ['a number', [7], '"keys[0]" is a number'],
    ['a short one', ['short'], 'at least 32 bytes'],
  ])('keys: %s', async (_, keys, why) => {
    const options = { ...quiet, keys }
    // @ts-expect-error as JavaScript may call it
    expect(() => serveHttp(server, options)).toThrow(why)
    // @ts-expect-error as JavaScript may call it
    expect(() => new DuplexConnection(server, () => {}, options)).toThrow(why)
    // @ts-expect-error as JavaScript may call it
    await expect(serveSocket(server, { port: 0 }, { keys })).rejects.toThrow(why)
  })

  test('no server', async () => {
    // @ts-expect-error as JavaScript may call it
    expect(() => serveHttp()).toThrow(
      'serveHttp needs a server as its first argument, made by defineServer, not undefined',
    )
    // @ts-expect-error as JavaScript may call it
    await expect(serveSocket(undefined, { port: 0 })).rejects.toThrow('serveSocket needs a server')
    // @ts-expect-error as JavaScript may call it
    expect(() => serveHttp({})).toThrow('made by defineServer, not an object')
  })

  test('no transport to connect to', async () => {
    // @ts-expect-error as JavaScript may call it
    await expect(connect()).rejects.toThrow('The first argument of connect must be')
    // @ts-expect-error as JavaScript may call it
    await expect(connect({})).rejects.toMatchObject({ code: 'INVALID' })
  })
})
