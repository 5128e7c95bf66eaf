import { describe, expect, test } from 'vitest'
import { planVisit } from '../../src/forms/url.ts'

describe('a URL to visit', () => {
  test.each([
    ['https://example.org/a?b#c', 'example.org'],
    ['https://example.org:8443/', 'example.org:8443'],
    ['https://bank.example@evil.example/', 'evil.example'],
    ['https://u:p@evil.example/evil.example', 'evil.example'],
    ['http://[2001:db8::1]/x', '[2001:db8::1]'],
  ])('%s has its site set off', (url, host) => {
    const { href, parts } = planVisit(url)
    expect(parts.host).toBe(host)
    expect(parts.before + parts.host + parts.after).toBe(href)
  })

  test('is never cut at a name that only stands before the @', () => {
    const { parts } = planVisit('https://evil.example:evil.example@evil.example/evil.example')
    expect(parts).toEqual({
      before: 'https://evil.example:evil.example@',
      host: 'evil.example',
      after: '/evil.example',
    })
  })

  test.each([
    ['https://example.org/', []],
    ['https://example.org/%2e%2e/', []],
    ['http://example.org/', ['not encrypted']],
    ['http://127.0.0.1:3000/', ['on this machine']],
    ['http://localhost/', ['on this machine']],
    ['http://[::1]:80/', ['on this machine']],
    ['https://10.0.0.1/', ['bare network address']],
    ['https://0x7f.1/', ['on this machine']],
    ['https://[2001:db8::1]/', ['bare network address']],
    ['https://user@example.org/', ['before the @']],
    ['https://xn--80ak6aa92e.com/', ['outside ASCII']],
    ['https://аррӏе.com/', ['outside ASCII']],
    ['https://pаypal.com/', ['mixes alphabets']],
    ['https://bücher.example/', ['reads "bücher.example"']],
  ])('%s is warned about: %j', (url, words) => {
    const { warnings, blocked } = planVisit(url)
    expect(warnings).toHaveLength(words.length)
    for (const [n, word] of words.entries()) expect(warnings[n]).toContain(word)
    expect(blocked).toBeUndefined()
  })

  test.each([
    'javascript:alert(1)',
    'file:///etc/passwd',
    'data:text/html,x',
    'vbscript:x',
    'ms-msdt:/id',
    'not a url',
    '',
  ])('%s is not opened', (url) => {
    expect(planVisit(url).blocked).toBeDefined()
  })

  test('letters that only look like others are shown as what they are', () => {
    expect(planVisit('https://pаypal.com/').href).toBe('https://xn--pypal-4ve.com/')
  })
})
