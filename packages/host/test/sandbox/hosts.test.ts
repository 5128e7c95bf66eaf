import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  findListedHost,
  isAllowedAddress,
  type ListedHost,
  parseTarget,
  readHosts,
} from '../../src/servers/sandbox/hosts.ts'

/** Whether a program that writes `place` gets through. */
function opens(list: string[], place: string): boolean {
  const wanted = parseTarget(place, 443)
  return wanted !== undefined && findListedHost(wanted, readHosts(list)) !== undefined
}

describe('a list of hosts', () => {
  it.each([
    [['example.org'], 'example.org:443', true],
    [['example.org'], 'example.org:80', true],
    [['example.org'], 'EXAMPLE.org.:443', true],
    [['example.org'], 'example.org:8080', false],
    [['example.org:8080'], 'example.org:8080', true],
    [['example.org:8080'], 'example.org:443', false],
    [['example.org:*'], 'example.org:22', true],
    [['example.org'], 'www.example.org:443', false],
    [['example.org'], 'badexample.org:443', false],
    [['*.example.org'], 'a.b.example.org:443', true],
    [['*.example.org'], 'example.org:443', false],
    [['*.example.org'], 'badexample.org:443', false],
    [['127.0.0.1:9000'], '127.0.0.1:9000', true],
    [['127.0.0.1:9000'], '0x7f.1:9000', true],
    [['127.0.0.1:9000'], 'localhost:9000', false],
    [['[::1]:9000'], '[::1]:9000', true],
    [['bücher.example'], 'xn--bcher-kva.example:443', true],
    [['example.org'], 'user@example.org:443', false],
    [['example.org'], 'example.org:443/path', false],
    [['example.org'], 'example.org:0', false],
    [['example.org'], '', false],
  ])('%j allows %s: %s', (list, place, answer) => {
    expect(opens(list, place)).toBe(answer)
  })

  it.each([
    'http://example.org',
    'example.org/path',
    '.',
    '*..:443',
    '*',
    '*.',
    'a*.example.org',
    'example.org:0',
    'example.org:99999',
    '',
  ])('is rejected: %s', (entry) => {
    expect(() => readHosts([entry])).toThrow(/is not a host/)
  })

  it('never allows an unlisted host, however it is written', () => {
    const list = readHosts(['example.org', '*.example.net:8443', '10.0.0.1:*'])
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.webAuthority(),
          fc.tuple(fc.domain(), fc.nat(70_000)).map(([name, port]) => `${name}:${port}`),
        ),
        (place) => {
          const wanted = parseTarget(place, 443)
          if (wanted === undefined || findListedHost(wanted, list) === undefined) return
          const { host, port } = wanted
          const expected =
            (host === 'example.org' && [80, 443].includes(port)) ||
            (host.endsWith('.example.net') && port === 8443) ||
            host === '10.0.0.1'
          expect(expected).toBe(true)
        },
      ),
    )
  })
})

describe('a listed name', () => {
  const entry = (written: string): ListedHost => {
    const [read] = readHosts([written])
    if (read === undefined) throw new Error('nothing was read')
    return read
  }

  it.each([
    ['example.org', '93.184.216.34', true],
    ['example.org', '127.0.0.1', false],
    ['example.org', '::1', false],
    ['example.org', '::ffff:127.0.0.1', false],
    ['example.org', '169.254.169.254', false],
    ['example.org', '0.0.0.0', false],
    ['example.org', 'fe80::1', false],
    ['intranet.example', '10.0.0.5', true],
    ['*.example.org', '10.0.0.5', false],
    ['*.example.org', '::ffff:192.168.1.1', false],
    ['*.example.org', 'fd00::1', false],
    ['*.example.org', '2606:2800:220:1::1', true],
    ['localhost:8080', '127.0.0.1', true],
    ['127.0.0.1:8080', '127.0.0.1', true],
  ])('%s may resolve to %s: %s', (written, address, answer) => {
    expect(isAllowedAddress(address, entry(written))).toBe(answer)
  })
})
