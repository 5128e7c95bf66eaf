import { createServer } from 'node:http'
import { connect } from 'node:net'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { inspectUrl } from '../../src/core/forms/inspect-url.ts'

const known = ['https://mcp.paypal.com/mcp']

/** The URL, its real site, the warnings about it, and whether the host would open it. */
const cases: [url: string, host: string, codes: string[], opens: boolean][] = [
  ['https://example.org/a?b#c', 'example.org', [], true],
  ['https://example.org', 'example.org', [], true],
  ['https://EXAMPLE.org/', 'example.org', [], true],
  ['https://example.org/%2e%2e/', 'example.org', [], true],
  ['https://example.org:443/', 'example.org', [], true],
  ['https://example.org:8443/', 'example.org', ['port'], true],
  ['http://example.org/', 'example.org', ['not-encrypted'], false],
  ['http://example.org:8080/', 'example.org', ['not-encrypted', 'port'], false],
  ['http://127.0.0.1:3000/', '127.0.0.1', ['this-machine'], true],
  ['http://localhost/', 'localhost', ['this-machine'], true],
  ['http://app.localhost:5173/', 'app.localhost', ['this-machine'], true],
  ['http://[::1]:80/', '[::1]', ['this-machine'], true],
  ['https://0x7f.1/', '127.0.0.1', ['this-machine'], true],
  ['https://2130706433/', '127.0.0.1', ['this-machine'], true],
  ['http://localhost.evil.example/', 'localhost.evil.example', ['not-encrypted'], false],
  ['http://127.0.0.1.evil.example/', '127.0.0.1.evil.example', ['not-encrypted'], false],
  ['https://10.0.0.1/', '10.0.0.1', ['ip-address'], true],
  ['https://8.8.8.8/', '8.8.8.8', ['ip-address'], true],
  ['https://0xa9fea9fe/', '169.254.169.254', ['link-local'], true],
  ['http://169.254.169.254/latest/meta-data', '169.254.169.254', ['link-local', 'not-encrypted'], false],
  ['https://metadata.google.internal/', 'metadata.google.internal', ['link-local'], true],
  ['https://[2001:db8::1]/x', '[2001:db8::1]', ['ip-address'], true],
  ['https://user@example.org/', 'example.org', ['user-information'], true],
  ['https://paypal.com@evil.example/', 'evil.example', ['user-information'], true],
  ['https://paypal.com:evil.example@evil.example/evil.example', 'evil.example', ['user-information'], true],
  ['https://paypal.com%2f@evil.example/', 'evil.example', ['user-information'], true],
  ['https://bücher.example/', 'xn--bcher-kva.example', ['other-letters'], true],
  ['https://xn--bcher-kva.example/', 'xn--bcher-kva.example', ['other-letters'], true],
  ['https://пример.рф/', 'xn--e1afmkfd.xn--p1ai', ['other-letters'], true],
  ['https://例え.jp/', 'xn--r8jz45g.jp', ['other-letters'], true],
  ['https://pаypal.com/', 'xn--pypal-4ve.com', ['mixed-letters'], true],
  ['https://gοοgle.com/', 'xn--ggle-0nda.com', ['mixed-letters'], true],
  ['https://xn--80ak6aa92e.com/', 'xn--80ak6aa92e.com', ['disguised-letters'], true],
  ['https://аррӏе.com/', 'xn--80ak6aa92e.com', ['disguised-letters'], true],
  ['https://exa\u200bmple.org/', 'example.org', ['hidden-characters'], true],
  ['https://example.org/\u202etxt.exe', 'example.org', ['hidden-characters'], true],
  ['https://exam\nple.org/', 'example.org', ['hidden-characters'], true],
  [' https://example.org/', 'example.org', ['hidden-characters'], true],
  ['https:\\\\evil.example\\paypal.com', 'evil.example', ['odd-spelling'], true],
  ['https:evil.example/', 'evil.example', ['odd-spelling'], true],
  ['https:////evil.example/', 'evil.example', ['odd-spelling'], true],
  [`https://example.org/?${'a'.repeat(5_000)}`, 'example.org', ['long'], true],
]

describe('a URL to visit', () => {
  test.each(cases)('%j is at %s: %j', (url, host, codes, opens) => {
    const page = inspectUrl(url)
    expect(page.parts.host).toBe(host)
    expect(page.parts.before + page.parts.host + page.parts.after).toBe(page.href)
    expect(page.findings.map(({ code }) => code)).toEqual(codes)
    expect(page.opens).toBe(opens)
    expect(page).not.toHaveProperty('blocked')
    expect(page.href).toMatch(/^[!-~]+$/)
  })

  test.each([
    'javascript:alert(1)',
    'JavaScript:alert(1)',
    'java\nscript:alert(1)',
    'file:///etc/passwd',
    'data:text/html,x',
    'vbscript:x',
    'ms-msdt:/id',
    'ftp://example.org/',
    'ws://example.org/',
    'blob:https://example.org/1',
    'mailto:a@example.org',
    'not a url',
    'https://',
    '',
  ])('%j is not opened', (url) => {
    expect(inspectUrl(url)).toMatchObject({ opens: false, blocked: expect.stringMatching(/\.$/) })
  })

  test.each<[url: string, codes: string[]]>([
    ['https://paypal.com/login', []],
    ['https://mcp.paypal.com/login', []],
    ['https://login.paypal.com/', []],
    ['https://accounts.example.org/', ['other-site']],
    ['https://paypa1.com/', ['looks-like']],
    ['https://pay-pal.com/', ['looks-like']],
    ['https://paypall.com/', ['looks-like']],
    ['https://paypal.co/', ['looks-like']],
    ['https://paypal.com.evil.example/', ['looks-like']],
    ['https://paypal-login.example/', ['looks-like']],
    ['https://pаypal.com/', ['mixed-letters', 'looks-like']],
    ['https://раураӏ.com/', ['disguised-letters', 'looks-like']],
    ['http://localhost:3000/', ['this-machine']],
  ])('for a server at paypal.com, %j is %j', (url, codes) => {
    expect(inspectUrl(url, { known }).findings.map(({ code }) => code)).toEqual(codes)
  })

  test('has a name with non-ASCII letters in both forms', () => {
    expect(inspectUrl('https://xn--pypal-4ve.com/')).toMatchObject({
      parts: { host: 'xn--pypal-4ve.com' },
      reads: 'pаypal.com',
    })
  })

  test('is parsed in full, at any length, without any request', async () => {
    let visits = 0
    const server = createServer((_request, response) => response.end())
    server.on('connection', () => {
      visits++
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const address = server.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const url = `http://127.0.0.1:${port}/${'x'.repeat(6_000)}`
    expect(inspectUrl(url).href).toBe(url)
    await new Promise<void>((resolve) => connect(port, '127.0.0.1', resolve).unref())
    expect(visits).toBe(1)
  })

  test('is parsed without errors for any text, and its parts are the whole', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.webUrl(),
          fc.string({ unit: 'binary' }),
          fc.string().map((s) => `https://${s}`),
        ),
        (text) => {
          const { href, parts, opens } = inspectUrl(text, { known })
          expect(parts.before + parts.host + parts.after).toBe(href)
          if (opens) expect(URL.parse(href)?.hostname).toBe(parts.host)
        },
      ),
    )
  })
})
