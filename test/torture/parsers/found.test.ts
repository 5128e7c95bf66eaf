import { KeyObject, sign } from 'node:crypto'
import { memoryStore, oauth } from '@jackfield/sdk/client/auth'
import { checkElicitSchema, hostOf, zoneOfAddress } from '@jackfield/sdk/internal'
import { calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose'
import { describe, expect, it } from 'vitest'
import { parseConfig } from '../../../packages/host/src/config/config.ts'
import { planForm } from '../../../packages/host/src/core/forms/form.ts'
import type { FromProgram } from '../../../packages/host/src/models/code/process.ts'
import { runInSandbox } from '../../../packages/host/src/models/code/sandbox.ts'
import { entryFrom, entryText } from '../../../packages/host/src/models/conversation-store.ts'
import { fitResult } from '../../../packages/host/src/models/fitted-result.ts'
import { readManifest } from '../../../packages/host/src/servers/install/bundle.ts'
import { planFrom } from '../../../packages/host/src/servers/install/plan.ts'
import { bundleIn } from '../../../packages/host/src/servers/install/registry.ts'
import { ProofChecker } from '../../../packages/sdk/src/auth/server/dpop.ts'
import { classify } from '../../../packages/sdk/src/jsonrpc/parse.ts'
import { digest } from '../../../packages/sdk/src/request/encoding.ts'

/** What the language calls where an object should be a text, and what is no function. */
const named = { a: 1, toString: 'a' }

describe('an object in the position of a name', () => {
  it('of a published server is rejected with a message', () => {
    const packages = [{ registryType: 'mcpb', identifier: 'https://a.example/x.mcpb' }]
    expect(() => bundleIn({ name: named, packages })).toThrow(
      'an object cannot be installed: the hash of its bundle is missing',
    )
    expect(() => planFrom({ name: named, packages })).toThrow('an object cannot be installed')
    expect(() =>
      planFrom({ name: named, packages: [{ registryType: 'npm', identifier: '-x', version: '1.0.0' }] }),
    ).toThrow('an object cannot be installed: it is')
  })

  it('of a platform is rejected with a message', () => {
    const server = { type: 'node', entry_point: 'a.js' }
    const compatibility = { platforms: [named, ['win32']] }
    const manifest = { manifest_version: '0.3', name: 'a', version: '1.0.0', server, compatibility }
    expect(() => readManifest(JSON.stringify(manifest), 'linux')).toThrow(
      'is made for an object, a list, and this is linux',
    )
  })

  it('of a kind of media does not prevent storing a conversation', () => {
    const odd = { type: 'image', data: 'x'.repeat(9_000_000), mimeType: named }
    const text = entryText({
      kind: 'message',
      by: 'host',
      message: {
        role: 'user',
        content: { type: 'tool_result', toolUseId: 't', content: [], structuredContent: { odd } },
      },
    })
    expect(JSON.stringify(entryFrom(text))).toContain('[image of an object: too large to be kept]')
  })

  it('of an error that a program throws is reported unchanged', async () => {
    const messages: FromProgram[] = []
    const limits = { memoryBytes: 32_000_000, cpuMs: 10_000, outputCharacters: 1_000, calls: 1 }
    const program = 'Promise.prototype.then = () => { throw { message: { toString: 1 } } }'
    await runInSandbox({ file: 'program.js', servers: [], program, ...limits }, (message) =>
      messages.push(message),
    )
    expect(messages).toEqual([{ type: 'end', outcome: 'error', error: '{"toString":1}' }])
  })

  it('of a variable is a problem of that setting and of no other', () => {
    const text =
      '[mcp_servers.web]\nurl = "https://a.example/"\nenv_http_headers = { X = { toString = 1 }, Y = "B" }\n'
    const { servers, problems } = parseConfig(text, {
      file: 'config.toml',
      env: { B: 'b' },
      home: '/',
      workspace: '/',
    })
    expect(problems.map(({ message }) => message).join()).toContain('must be the name of a variable')
    expect(Object.keys(servers)).toEqual([])
  })
})

describe('an address before dots', () => {
  it.each(['127.0127.0.0..', '0x7f.1..', '2130706433...'])('%s is loopback', (host) => {
    expect(zoneOfAddress(hostOf(new URL(`https://${host}/`)))).toBe('loopback')
  })
})

describe('a long name before texts that are too long', () => {
  it('does not exceed the limit with them, and the result is still shortened', () => {
    const resource = { uri: `x:${'a'.repeat(9_000)}`, text: 'b'.repeat(9_000) }
    const content = [
      { type: 'resource' as const, resource },
      { type: 'text' as const, text: 'c' },
    ]
    const [last] = fitResult({ content }, 5_000, () => 'kept')
    expect(last).toMatchObject({ type: 'text', text: expect.stringContaining('[cut: 0 of 9001') })
  })
})

describe('a file of YAML', () => {
  it('is rejected if its parser would not terminate in time', () => {
    const read = (): unknown =>
      parseConfig('['.repeat(1_000_000), { file: 'c.yaml', env: {}, home: '/', workspace: '/' })
    expect(read).toThrow('is too long: at most 262144 characters are read')
  })
})

describe('a file with something wrong in each of very many lines', () => {
  it('is read to its end, with the position of each error', () => {
    const args = Array.from({ length: 60_000 }, () => '"$' + '{env:NONE}"')
    const text = `{"mcpServers":{"a":{"command":"x","args":[\n${args.join(',\n')}]}}}`
    const { problems } = parseConfig(text, { file: '.mcp.json', env: {}, home: '/', workspace: '/' })
    expect(problems.length).toBe(args.length)
    expect(problems.at(-1)).toMatchObject({ line: args.length + 1 })
  })
})

describe('a list or an object in the position of a name in YAML', () => {
  it.each(['? '.repeat(18), 'a: &x {b: 1}\n*x : ', '? [a]\n: '])('is refused: %s', (text) => {
    const read = (): unknown =>
      parseConfig(`${text}c`, { file: 'c.yaml', env: {}, home: '/', workspace: '/' })
    expect(read).toThrow('has a list or an object in place of a name')
  })

  it('is not confused with the name behind an alias', () => {
    const text = 'a: &x mcpServers\n*x : {files: {command: a}}\n'
    const { servers } = parseConfig(text, { file: 'c.yaml', env: {}, home: '/', workspace: '/' })
    expect(Object.keys(servers)).toEqual(['files'])
  })
})

describe('a form field with two contradicting choice keywords', () => {
  it.each([{ enum: {} }, { enum: [1] }, { oneOf: 'a' }])(
    'is a number where it is of numbers: %j',
    (beside) => {
      const form: unknown = { type: 'object', properties: { a: { type: 'integer', ...beside } } }
      expect(checkElicitSchema(form)).toBeUndefined()
      expect(planForm(JSON.parse(JSON.stringify(form)))).toMatchObject({ fields: [{ kind: 'integer' }] })
    },
  )

  it('is refused where the way that counts is none', () => {
    const items = { type: 'string', enum: ['x'], anyOf: {} }
    expect(checkElicitSchema({ type: 'object', properties: { a: { type: 'array', items } } })).toBe(
      'field "a" may only be a choice among strings',
    )
  })
})

describe('an error whose code is out of range for some parsers', () => {
  it.each([2 ** 53, -(2 ** 53), 1e300])('is no answer: %d', (code) => {
    const { kind } = classify({ jsonrpc: '2.0', id: 1, error: { code, message: 'm' } })
    expect(kind).toBe('invalid')
  })
})

describe('a proof with a key whose coordinate is in a list', () => {
  it('is of no key', async () => {
    const server = new URL('https://mcp.example/mcp')
    const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
    const jwk = await exportJWK(publicKey)
    const proof = async (key: object): Promise<string> => {
      const header = { typ: 'dpop+jwt', alg: 'ES256', jwk: key }
      const payload = {
        htm: 'POST',
        htu: server.href,
        iat: Date.now() / 1_000,
        jti: 'j',
        ath: await digest('t'),
      }
      const token = [header, payload]
        .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
        .join('.')
      const signature = sign('sha256', Buffer.from(token), {
        key: KeyObject.from(privateKey),
        dsaEncoding: 'ieee-p1363',
      })
      return `${token}.${signature.toString('base64url')}`
    }
    const check = async (key: object): Promise<unknown> => {
      const text = await proof(key)
      const request = {
        method: 'POST',
        url: '/mcp',
        header: (name: string) => (name === 'dpop' ? text : undefined),
        repeats: () => false,
      }
      return new ProofChecker(server, {}, 1_000).check(request, 't', await calculateJwkThumbprint(jwk), null)
    }
    expect(await check(jwk)).toMatchObject({ ok: true })
    expect(await check({ ...jwk, x: [jwk.x] })).toMatchObject({ ok: false, error: 'invalid_dpop_proof' })
  })
})

describe('times that exceed the range of numbers', () => {
  it('lose neither the login nor the registration they belong to', async () => {
    const server = new URL('https://mcp.example/mcp')
    const issuer = 'https://login.example'
    const metadata = {
      ...{
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        code_challenge_methods_supported: ['S256'],
      },
      ...{ registration_endpoint: `${issuer}/register`, token_endpoint: `${issuer}/token` },
    }
    const answers: Readonly<Record<string, object>> = {
      '/.well-known/oauth-protected-resource/mcp': { resource: server.href, authorization_servers: [issuer] },
      '/.well-known/oauth-authorization-server': metadata,
      '/register': { client_id: 'c', client_secret: 's', client_secret_expires_at: 1e308 },
      '/token': { access_token: 't', token_type: 'Bearer', expires_in: 1e308 },
    }
    const asked: string[] = []
    const uri = 'http://127.0.0.1:9/callback'
    const options = {
      client: { name: 'found' },
      store: memoryStore(),
      lookup: async () => ['93.184.216.34'],
      fetch: async ({ pathname }: URL) => {
        asked.push(pathname)
        return Response.json(answers[pathname], { status: pathname === '/register' ? 201 : 200 })
      },
      redirect: {
        begin: async () => ({
          uri,
          open: async (url: URL) => new URL(`${uri}?code=c&state=${url.searchParams.get('state')}`),
          close: async () => {},
        }),
      },
    }
    const logIn = (): Promise<boolean> =>
      oauth(options).refused(
        { status: 401, headers: new Headers(), method: 'POST', url: server, sent: {}, background: false },
        new AbortController().signal,
      )
    expect(await logIn()).toBe(true)
    const authorization = await oauth(options).authorize({ method: 'POST', url: server })
    expect(authorization).toEqual({ authorization: 'Bearer t' })
    await oauth(options).forget(server)
    expect(await logIn()).toBe(true)
    expect(asked.filter((path) => path === '/register')).toHaveLength(1)
  })
})
