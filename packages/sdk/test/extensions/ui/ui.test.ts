import { defineServer, type JsonObject, reply, type Server, tool } from '@jackfield/sdk'
import { type Client, type ConnectOptions, connect } from '@jackfield/sdk/client'
import { app, appMimeType, shownIn, showsApps, ui, uiExtension } from '@jackfield/sdk/extensions/ui'
import { describe, expect, it, onTestFinished } from 'vitest'

const html = '<!doctype html><title>Weather</title>'

const board = app({
  uri: 'ui://weather/board',
  title: 'Weather',
  description: 'The weather of a week',
  html,
  csp: {
    connectDomains: ['https://api.example.com', 'wss://live.example.com:8443'],
    resourceDomains: ['https://*.cdn.example.com'],
  },
  permissions: ['geolocation', 'clipboardWrite'],
  prefersBorder: true,
})

function weather(): Server {
  return defineServer({
    name: 'weather',
    version: '1.0.0',
    cache: { ttlMs: 60_000, cacheScope: 'public' },
    extensions: [ui({ board })],
    tools: {
      forecast: tool({
        description: 'The weather of a week',
        meta: { ...shownIn(board), 'com.example/kept': 1 },
        run: (_args, ctx) => (showsApps(ctx.peer) ? 'See the board' : 'Sunny all week'),
      }),
      refresh: tool({ meta: shownIn(board, { visibility: ['app'] }), run: () => 'Fresh' }),
      ask: tool({ meta: shownIn(board, { visibility: ['model'] }), run: () => reply({ content: 'Asked' }) }),
      plain: tool({ run: () => 'Plain' }),
    },
  })
}

/** What a host that shows apps declares. */
const host: ConnectOptions = { extensions: [{ id: uiExtension, settings: { mimeTypes: [appMimeType] } }] }

async function open(server: Server, options: ConnectOptions = {}): Promise<Client> {
  const client = await connect(server, options)
  onTestFinished(() => client.close())
  return client
}

async function metas(client: Client): Promise<Record<string, JsonObject | undefined>> {
  return Object.fromEntries((await client.tools()).map(({ name, _meta }) => [name, _meta]))
}

describe.each(['2025-06-18', '2025-11-25', '2026-07-28'] as const)('a host with apps (%s)', (revision) => {
  it('gets the app of a tool, and its visibility', async () => {
    const client = await open(weather(), { ...host, revisions: [revision] })
    expect(client.server.capabilities.extensions).toEqual({ [uiExtension]: {} })
    const resourceUri = 'ui://weather/board'
    expect(await metas(client)).toEqual({
      forecast: { ui: { resourceUri, visibility: ['model', 'app'] }, 'com.example/kept': 1 },
      refresh: { ui: { resourceUri, visibility: ['app'] } },
      ask: { ui: { resourceUri, visibility: ['model'] } },
      plain: undefined,
    })
    expect(await client.call('refresh')).toMatchObject({ content: [{ text: 'Fresh' }] })
    expect(await client.call('forecast')).toMatchObject({ content: [{ text: 'See the board' }] })
  })

  it('reads the app with its security metadata', async () => {
    const client = await open(weather(), { ...host, revisions: [revision] })
    const known = {
      ui: {
        csp: {
          connectDomains: ['https://api.example.com', 'wss://live.example.com:8443'],
          resourceDomains: ['https://*.cdn.example.com'],
        },
        permissions: { geolocation: {}, clipboardWrite: {} },
        prefersBorder: true,
      },
    }
    const [listed] = await client.resources()
    expect(listed).toMatchObject({
      uri: 'ui://weather/board',
      name: 'board',
      title: 'Weather',
      mimeType: appMimeType,
      _meta: known,
    })
    const { contents } = await client.read('ui://weather/board')
    expect(contents).toEqual([{ uri: 'ui://weather/board', mimeType: appMimeType, text: html, _meta: known }])
  })
})

describe('a client without apps', () => {
  it.each<[string, ConnectOptions]>([
    ['does not speak of them', {}],
    [
      'names other media types',
      { extensions: [{ id: uiExtension, settings: { mimeTypes: ['text/html'] } }] },
    ],
    ['names none', { extensions: [{ id: uiExtension }] }],
    ['speaks a revision whose tools cannot say it', { ...host, revisions: ['2025-03-26'] }],
  ])('that %s gets plain tools, without those for apps', async (_why, options) => {
    const client = await open(weather(), options)
    const listed = await metas(client)
    expect(Object.keys(listed)).toEqual(['forecast', 'ask', 'plain'])
    expect(Object.values(listed).filter((meta) => meta !== undefined && 'ui' in meta)).toEqual([])
    expect(await client.resources()).toEqual([])
    expect(await client.call('forecast')).toMatchObject({ content: [{ text: 'Sunny all week' }] })
    await expect(client.call('refresh')).rejects.toMatchObject({
      code: -32602,
      message: 'Unknown tool: refresh',
    })
  })

  it('keeps other metadata of a tool', async () => {
    expect((await metas(await open(weather())))['forecast']).toEqual({ 'com.example/kept': 1 })
  })

  it('gets lists that are not cached with those of a host, although the server allows public caching', async () => {
    for (const options of [{}, host]) {
      const client = await open(weather(), options)
      expect(await client.request('tools/list')).toMatchObject({ ttlMs: 60_000, cacheScope: 'private' })
      expect(await client.request('resources/list')).toMatchObject({ cacheScope: 'private' })
    }
  })
})

describe('an app', () => {
  it('can be generated when it is read', async () => {
    let count = 0
    const fresh = app({ uri: 'ui://a/b', html: async () => `<!DOCTYPE html><p>${++count}` })
    const client = await open(defineServer({ name: 's', version: '1', extensions: [ui({ fresh })] }), host)
    await client.read('ui://a/b')
    expect(await client.read('ui://a/b')).toMatchObject({ contents: [{ text: '<!DOCTYPE html><p>2' }] })
  })

  it('that is no document is not sent', async () => {
    const bad = app({ uri: 'ui://a/b', html: () => '<p>Half' })
    const errors: unknown[] = []
    const server = defineServer({
      name: 's',
      version: '1',
      extensions: [ui({ bad })],
      onError: (error) => errors.push(error),
    })
    const client = await open(server, host)
    await expect(client.read('ui://a/b')).rejects.toMatchObject({ code: -32603, message: 'Internal error' })
    expect(errors).toMatchObject([{ message: expect.stringContaining('<!doctype html>') }])
  })

  it.each(['https://weather/board', 'ui:weather', 'ui://', 'ui://a b', 'ui://a/?q=1', 'UI://a/b'])(
    'needs a URI under ui://, not %s',
    (uri) => {
      expect(() => app({ uri, html })).toThrow(expect.objectContaining({ code: 'INVALID' }))
    },
  )

  it.each(['', '<p>Half a page</p>', '<html></html>', 'plain text'])(
    'needs a whole document, not %j',
    (text) => {
      expect(() => app({ uri: 'ui://a/b', html: text })).toThrow(/doctype/)
    },
  )

  it('has no unknown permissions', () => {
    const permissions: string[] = ['camera', 'bluetooth']
    expect(() =>
      app({ uri: 'ui://a/b', html, permissions: JSON.parse(JSON.stringify(permissions)) }),
    ).toThrow(/"bluetooth"/)
    expect(() => app({ uri: 'ui://a/b', html, domain: 'two words' })).toThrow(/domain/)
  })
})

describe('an origin', () => {
  it.each<[string, string]>([
    ['connectDomains', 'https://api.example.com'],
    ['connectDomains', 'wss://api.example.com:8443'],
    ['connectDomains', 'http://localhost:3000'],
    ['connectDomains', 'ws://127.0.0.1:3000'],
    ['connectDomains', 'http://[::1]:3000'],
    ['resourceDomains', 'https://*.example.com'],
    ['frameDomains', 'https://www.example.com'],
    ['baseUriDomains', 'https://example.com'],
  ])('in %s may be %s', (name, origin) => {
    expect(app({ uri: 'ui://a/b', html, csp: { [name]: [origin] } }).resource.meta).toEqual({
      ui: { csp: { [name]: [origin] } },
    })
  })

  it.each<[string, unknown]>([
    ['connectDomains', '*'],
    ['connectDomains', 'https://*'],
    ['connectDomains', 'https:'],
    ['connectDomains', 'https://*.example.com'],
    ['connectDomains', 'http://example.com'],
    ['connectDomains', 'ws://example.com'],
    ['connectDomains', 'https://a.com; script-src *'],
    ['connectDomains', "https://a.com 'unsafe-eval'"],
    ['connectDomains', 'https://a.com/path'],
    ['connectDomains', 'https://a.com/'],
    ['connectDomains', 'https://user@a.com'],
    ['connectDomains', 'https://a.com:99999'],
    ['connectDomains', 'https://A.com'],
    ['connectDomains', 'https://ä.de'],
    ['connectDomains', 'https://a.com\n'],
    ['connectDomains', ''],
    ['connectDomains', 7],
    ['resourceDomains', 'https://*.com'],
    ['resourceDomains', 'https://*.*.example.com'],
    ['resourceDomains', 'https://a.*.example.com'],
    ['resourceDomains', 'http://*.localhost'],
    ['resourceDomains', 'wss://a.com'],
    ['resourceDomains', 'data:'],
    ['resourceDomains', "'self'"],
    ['frameDomains', 'https://*.example.com'],
    ['scriptDomains', 'https://a.com'],
  ])('in %s may not be %j', (name, origin) => {
    expect(() => app({ uri: 'ui://a/b', html, csp: { [name]: [origin] } })).toThrow(
      expect.objectContaining({ code: 'INVALID', message: expect.stringContaining('ui://a/b') }),
    )
  })
})

describe('a tool', () => {
  const make = (meta: JsonObject): Server =>
    defineServer({
      name: 's',
      version: '1',
      extensions: [ui({ board })],
      tools: { t: tool({ meta, run: () => '' }) },
    })

  it('cannot refer to an app that is not served: the error names both', () => {
    const other = app({ uri: 'ui://other/app', html })
    expect(() => make(shownIn(other))).toThrow(/Tool "t".*ui:\/\/other\/app.*ui:\/\/weather\/board/)
    const server = make({})
    expect(() => server.add({ tools: { later: tool({ meta: shownIn(other), run: () => '' }) } })).toThrow(
      /"later"/,
    )
  })

  it.each<[string, JsonObject]>([
    ['the name that was given up', { 'ui/resourceUri': 'ui://weather/board' }],
    ['no object', { ui: 'ui://weather/board' }],
    ['an empty visibility', { ui: { visibility: [] } }],
    ['an unknown visibility', { ui: { visibility: ['user'] } }],
  ])('cannot set its app with %s', (_what, meta) => {
    expect(() => make(meta)).toThrow(expect.objectContaining({ code: 'INVALID' }))
  })

  it('that is added later is hidden as well, and listed again when visible to all', async () => {
    const server = make({})
    const client = await open(server)
    server.add({ tools: { later: tool({ meta: shownIn(board, { visibility: ['app'] }), run: () => 'x' }) } })
    expect(Object.keys(await metas(client))).toEqual(['t'])
    server.add({ tools: { later: tool({ meta: shownIn(board), run: () => 'x' }) } })
    await expect(client.call('later')).resolves.toMatchObject({ content: [{ text: 'x' }] })
  })
})
