import { inspectUrl } from '../../../packages/host/src/core/forms/inspect-url.ts'
import { detectFileType, imageSize } from '../../../packages/host/src/resources/contents.ts'
import { fetchBundle } from '../../../packages/host/src/servers/install/registry.ts'
import {
  findListedHost,
  isAllowedAddress,
  parseTarget,
  readHosts,
} from '../../../packages/host/src/servers/sandbox/hosts.ts'
import { isHosts } from './fuzz-host.ts'
import { mustHold, never, type Target } from './fuzz-target.ts'

/** Where others lead a person, a program or the host, and pictures they show. */
export function placeTargets(): Target[] {
  return [
    { name: 'pages to visit', share: 2, seeds: pages, run: page, allows: never },
    { name: 'hosts of sandboxes', share: 2, seeds: wanted, run: host, allows: isHosts },
    { name: 'redirects of bundles', share: 2, seeds: redirects, run: redirect, allows: isHosts },
    { name: 'images', share: 2, seeds: images, run: image, allows: never },
  ]
}

const pages: [string, ...string[]] = [
  'https://a.example/login?x=y#z',
  'http://user:pw@127.0.0.1:8080/',
  'https://xn--pypal-4ve.com/',
  'https://раypal.com/',
  'https://bank.example.evil.test/\u202egro',
  'HTTPS:\\\\a.example\\b',
  'mailto:a@b.example',
  'http://[::ffff:169.254.169.254]/',
]

/** What opens is a web page, and is shown as what it is. */
function page(input: Buffer): void {
  const text = input.toString('utf8')
  const { href, parts, opens, blocked, findings } = inspectUrl(text, { known: ['https://a.example/mcp'] })
  const url = URL.parse(text)
  mustHold(href === (url?.href ?? text), 'another address is shown than would be opened')
  mustHold(parts.before + parts.host + parts.after === href, 'the parts of an address are not all of it')
  mustHold(!opens || url !== null, 'what is no address is opened')
  if (!opens || url === null) return
  mustHold(url.protocol === 'https:' || url.protocol === 'http:', `${url.protocol} is opened`)
  mustHold(blocked === undefined && parts.host === url.hostname, 'the site is not what is shown as such')
  const hides = url.username !== '' || url.password !== ''
  mustHold(
    !hides || findings.some(({ code }) => code === 'user-information'),
    'what hides the site is not told',
  )
}

const wanted: [string, ...string[]] = [
  'api.example.org:443',
  'example.org:8080',
  '[::1]:80',
  '10.0.0.1:80',
  'localhost:80',
  'example.org.:443',
  'EXAMPLE.org:443',
  '0x7f.1:80',
]
const listed = readHosts(['*.example.org', 'example.org:8080'])

/** Nothing is reached that is not listed, however it is written. */
function host(input: Buffer): void {
  const text = input.toString('utf8')
  const found = parseTarget(text, 443)
  const entry = found && findListedHost(found, listed)
  if (found !== undefined && entry !== undefined) {
    mustHold(/^(?:[^:/?#@]*\.)?example\.org$/.test(found.host), `${found.host} is taken for a listed one`)
    mustHold(
      found.host === 'example.org' ? found.port === 8080 : [80, 443].includes(found.port),
      'another port',
    )
    for (const inside of ['127.0.0.1', '::1', '::ffff:127.0.0.1', '10.0.0.1', 'fe80::1', '169.254.169.254'])
      mustHold(!isAllowedAddress(inside, entry) || !entry.wildcard, `a name leads to ${inside}`)
  }
  for (const { name } of readHosts([text])) mustHold(name !== '', 'a host without a name is listed')
}

const redirects: [string, ...string[]] = [
  'https://a.example/x.mcpb',
  'https://b.example/y',
  '//c.example/z',
  '../up',
  'http://127.0.0.1:9/x',
  'file:///etc/passwd',
]

/** Wherever a place sends on to, what is asked stays encrypted and out of this machine. */
async function redirect(input: Buffer): Promise<void> {
  const location = input.toString('latin1')
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(location)) return
  let hops = 0
  const fetch = async (...[url]: Parameters<typeof globalThis.fetch>): Promise<Response> => {
    mustHold(url instanceof URL && url.protocol === 'https:', `${String(url)} is asked`)
    hops++
    return new Response(null, { status: 302, headers: { location } })
  }
  try {
    await fetchBundle({ url: 'https://a.example/x.mcpb', hash: 'a'.repeat(64) }, { fetch })
  } finally {
    mustHold(hops <= 6, 'redirects are followed for ever')
  }
}

/** Bytes, as a text with one character for each. */
const images: [string, ...string[]] = [
  'x',
  ...[
    '89504e470d0a1a0a0000000d494844520000000100000002',
    '474946383961010002000000',
    'ffd8ffe000104a46494600010100000100010000ffc0000b080010002001011100ffd9',
    '52494646240000005745425056503858000000000000000000000100000100',
    '52494646240000005745425056503820000000000000009d012a1000200000',
    '5249464624000000574542505650384c000000002f0fc00300',
    '424d460000000000000036000000280000000100000002000000',
  ].map((hex) => Buffer.from(hex, 'hex').toString('latin1')),
]

function image(input: Buffer): void {
  const bytes = Buffer.from(input.toString('utf8'), 'latin1')
  detectFileType(bytes)
  const size = imageSize(bytes)
  mustHold(size === undefined || Number.isInteger(size.width * size.height), 'an image has no size')
}
