import type { Authority } from '../../../packages/sdk/test/client-auth/support/authority.ts'
import type { ProtectedServer } from '../../../packages/sdk/test/client-auth/support/protected-server.ts'

/** Makes a sound protected server one in which a login must not go on. */
export type Fault = (server: ProtectedServer, as: Authority) => void

const all = (of: Readonly<Record<string, Fault>>, prefix: string): [string, Fault][] =>
  Object.entries(of).map(([name, fault]) => [`${prefix} ${name}`, fault])
const each = (
  prefix: string,
  values: readonly unknown[],
  make: (value: unknown) => Fault,
): [string, Fault][] =>
  values.map((value) => [`${prefix} ${JSON.stringify(value) ?? 'missing'}`, make(value)])

const noPkce = [
  undefined,
  null,
  [],
  ['plain'],
  ['s256'],
  ['S256 '],
  ['S512'],
  'S256',
  { 0: 'S256' },
  [['S256']],
]

const badUrls = [
  'http://as.example/x',
  'http://127.0.0.1.evil.example/x',
  'http://localhost.evil.example/x',
  'http://[2002:7f00:1::]/x',
  'http://[64:ff9b::7f00:1]/x',
  'http://[::127.0.0.1]/x',
  'http://user@127.0.0.1/x',
  'https://user:secret@as.example/x',
  'https://169.254.169.254/x',
  'https://[fd00:ec2::254]/x',
  'https://0/x',
  'javascript:alert(1)',
  'JaVaScRiPt:alert(1)',
  ' javascript:alert(1)',
  'java\tscript:alert(1)',
  'java\nscript:alert(1)//https://as.example/x',
  'data:text/html,<script>alert(1)</script>',
  'vbscript:x',
  'file:///etc/passwd',
  'ftp://as.example/x',
  'ws://127.0.0.1/x',
  'blob:https://as.example/x',
  'about:blank',
  'ms-msdt:/id',
  'view-source:https://as.example/x',
  '//as.example/x',
  '/x',
  '',
  'https://',
  42,
  null,
  ['https://as.example/x'],
]
const endpoints = ['authorization_endpoint', 'token_endpoint', 'registration_endpoint']

/** Other spellings of an issuer, none of which is that issuer. */
const spellings: readonly ((issuer: string) => string)[] = [
  (issuer) => `${issuer}/`,
  (issuer) => issuer.replace('http:', 'HTTP:'),
  (issuer) => issuer.replace('http:', 'https:'),
  (issuer) => issuer.replace('127.0.0.1', '127.0.0.01'),
  (issuer) => issuer.replace('127.0.0.1', '127.1'),
  (issuer) => issuer.replace('127.0.0.1', 'localhost'),
  (issuer) => issuer.replace('127.0.0.1', '127.0.0.%31'),
  (issuer) => issuer.replace('127.0.0.1', '127。0。0。1'),
  (issuer) => issuer.replace('127.0.0.1', 'x@127.0.0.1'),
  (issuer) => `${issuer}#`,
  (issuer) => `${issuer}?`,
  (issuer) => `${issuer}/.`,
  (issuer) => ` ${issuer}`,
  (issuer) => `${issuer}.evil.example`,
  () => 'https://evil.example',
]

const resources: readonly ((url: string) => unknown)[] = [
  () => undefined,
  () => 7,
  (url) => [url],
  () => 'https://evil.example/mcp',
  (url) => `${url}2`,
  (url) => url.slice(0, -1),
  (url) => `${url}/deeper`,
  (url) => `${url}#part`,
  (url) => `${url}?tenant=2`,
  (url) => url.replace('http:', 'https:'),
  (url) => url.replace('127.0.0.1', 'localhost'),
  (url) => url.replace('127.0.0.1', 'user@127.0.0.1'),
  (url) => url.replace(/\d+\/mcp$/, '1/mcp'),
  (url) => url.replace('/mcp', '/MCP'),
  (url) => url.replace('/mcp', '/other'),
]

/** What ends a login before anything is posted anywhere. */
export const beforePosting: readonly [string, Fault][] = [
  ...each('PKCE methods', noPkce, (value) => (_, as) => {
    as.metadata = { code_challenge_methods_supported: value }
  }),
  ...endpoints.flatMap((name) =>
    each(name, badUrls, (value) => (_, as) => {
      as.metadata = { [name]: value }
    }),
  ),
  ...spellings.flatMap((spell): [string, Fault][] => [
    [
      `metadata of ${spell}`,
      (_, as) => {
        as.metadata = { issuer: spell(as.issuer) }
      },
    ],
    [
      `a server that names ${spell}`,
      (server, as) => {
        server.resource = { ...server.resource, authorization_servers: [spell(as.issuer)] }
      },
    ],
  ]),
  ...resources.map((of): [string, Fault] => [
    `metadata about ${of}`,
    (server) => {
      server.resource = { ...server.resource, resource: of(server.url) }
    },
  ]),
  ...all(
    {
      'no authorization server': (server) => {
        server.resource = { resource: server.url }
      },
      'no authorization endpoint': (_, as) => {
        as.metadata = { authorization_endpoint: undefined }
      },
    },
    'metadata with',
  ),
]

const comingBack: readonly ((as: Authority) => Authority['callback'])[] = [
  () => ({ iss: undefined }),
  ...spellings.map((spell) => (as: Authority) => ({ iss: spell(as.issuer) })),
  () => ({ iss: '' }),
  () => ({ state: undefined }),
  () => ({ state: '' }),
  () => ({ state: 'A'.repeat(43) }),
  () => ({ code: undefined }),
  () => ({ code: '' }),
  () => ({ error: 'access_denied', code: undefined }),
  () => ({ iss: 'https://evil.example', error: 'server_error', error_description: 'Call 555-0100' }),
]

/** What ends a login before its code is used. */
export const beforeTheCode: readonly [string, Fault][] = comingBack.map((make): [string, Fault] => [
  `coming back with ${make}`,
  (_, as) => {
    as.callback = make(as)
  },
])
