import { connect, http } from '@jackfield/sdk/client'
import { oauth } from '@jackfield/sdk/client/auth'
import { describe, expect, it, onTestFinished } from 'vitest'

const redirectUri = 'http://127.0.0.1:3456/callback'
const wellKnown = 'https://mcp.example/.well-known'
const token = 'the-token'

/** The response of a server of revision 2025-03-26 to a request with the token. */
function answerOf(init: RequestInit): Response {
  const headers = new Headers(init.headers)
  if (headers.get('authorization') !== `Bearer ${token}`) return new Response('', { status: 401 })
  if (init.method !== 'POST') return new Response('', { status: 405 })
  const { id, method } = JSON.parse(String(init.body))
  if (method !== 'initialize') return new Response(null, { status: 202 })
  const serverInfo = { name: 'old', version: '1' }
  return Response.json({
    jsonrpc: '2.0',
    id,
    result: { protocolVersion: '2025-03-26', capabilities: {}, serverInfo },
  })
}

/** Logs in to a server on a web that exists only here: its pages, and clients that register and get tokens anywhere. */
async function logIn(server: string, pages: Readonly<Record<string, object>> = {}) {
  const asked: string[] = []
  const forms: URLSearchParams[] = []
  const opened: URL[] = []
  const answer = async (url: URL, init: RequestInit): Promise<Response> => {
    asked.push(`${init.method ?? 'GET'} ${url.href}`)
    if (init.method === 'POST' && url.pathname.endsWith('/register')) {
      return Response.json({ client_id: 'a-client' }, { status: 201 })
    }
    if (init.method === 'POST') {
      forms.push(new URLSearchParams(String(init.body)))
      return Response.json({ access_token: token, token_type: 'Bearer' })
    }
    const page = pages[url.href]
    return page === undefined ? new Response('{}', { status: 404 }) : Response.json(page)
  }
  const auth = oauth({
    client: { name: 'test' },
    fetch: answer,
    lookup: async () => ['93.184.215.14'],
    redirect: {
      begin: async () => ({
        uri: redirectUri,
        async open(url) {
          opened.push(url)
          const state = url.searchParams.get('state') ?? ''
          return new URL(`${redirectUri}?${new URLSearchParams({ code: 'a-code', state })}`)
        },
        close: async () => {},
      }),
    },
  })
  const link = http(server, { auth, fetch: async (_url, init) => answerOf(init ?? {}) })
  const client = await connect(link, { revisions: ['2025-03-26'] })
  onTestFinished(() => client.close())
  return { asked, forms, opened }
}

const nothing = [
  `GET ${wellKnown}/oauth-protected-resource/v1/mcp`,
  `GET ${wellKnown}/oauth-protected-resource`,
  `GET ${wellKnown}/oauth-authorization-server`,
]

describe('a server that names no authorization server', () => {
  it('has its metadata requested at the root of its origin, whatever its own path', async () => {
    const { asked, opened } = await logIn('https://mcp.example/v1/mcp', {
      [`${wellKnown}/oauth-authorization-server`]: {
        issuer: 'https://mcp.example',
        authorization_endpoint: 'https://mcp.example/login/page',
        token_endpoint: 'https://mcp.example/login/tokens',
        registration_endpoint: 'https://mcp.example/login/register',
        code_challenge_methods_supported: ['S256'],
      },
    })
    expect(asked).toEqual([
      ...nothing,
      'POST https://mcp.example/login/register',
      'POST https://mcp.example/login/tokens',
    ])
    expect(opened.map(({ origin, pathname }) => `${origin}${pathname}`)).toEqual([
      'https://mcp.example/login/page',
    ])
  })

  it('has its endpoints assumed at the root of its origin, if no metadata was found', async () => {
    const { asked, forms, opened } = await logIn('https://mcp.example/v1/mcp')
    expect(asked).toEqual([
      ...nothing,
      `GET ${wellKnown}/openid-configuration`,
      'POST https://mcp.example/register',
      'POST https://mcp.example/token',
    ])
    expect(opened.map(({ origin, pathname }) => `${origin}${pathname}`)).toEqual([
      'https://mcp.example/authorize',
    ])
    expect(Object.fromEntries(opened[0]?.searchParams ?? [])).toMatchObject({
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
      resource: 'https://mcp.example/v1/mcp',
    })
    expect(Object.fromEntries(forms[0] ?? [])).toMatchObject({
      code_verifier: expect.stringMatching(/^[\w-]{43,}$/),
      resource: 'https://mcp.example/v1/mcp',
    })
  })

  it('is not used as its own authorization server without PKCE in its metadata', async () => {
    const metadata = {
      issuer: 'https://mcp.example',
      authorization_endpoint: 'https://mcp.example/authorize',
      token_endpoint: 'https://mcp.example/token',
    }
    const pages = { [`${wellKnown}/oauth-authorization-server`]: metadata }
    await expect(logIn('https://mcp.example/v1/mcp', pages)).rejects.toThrow(/PKCE/)
  })

  it.each([
    ['https://mcp.example', 'https://mcp.example'],
    ['https://mcp.example/', 'https://mcp.example'],
    ['HTTPS://MCP.Example/Server/mcp', 'https://mcp.example/Server/mcp'],
    ['https://mcp.example:443/mcp', 'https://mcp.example/mcp'],
    ['https://mcp.example:8443', 'https://mcp.example:8443'],
  ])('%s is the resource %s', async (server, resource) => {
    const { forms, opened } = await logIn(server)
    expect(opened.map(({ searchParams }) => searchParams.get('resource'))).toEqual([resource])
    expect(forms.map((form) => form.get('resource'))).toEqual([resource])
  })
})
