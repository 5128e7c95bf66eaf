import { describe, expect, it } from 'vitest'
import { proxyFor, shownProxy } from '../../src/servers/network/fetch.ts'

const proxied = (url: string, env: Record<string, string>): string | undefined => {
  const proxy = proxyFor(new URL(url), env)
  return proxy && shownProxy(proxy)
}

describe('the proxy of a URL', () => {
  const both = { HTTPS_PROXY: 'http://secure:1', HTTP_PROXY: 'plain:2' }

  it.each([
    ['https://a.example/', both, 'http://secure:1'],
    ['http://a.example/', both, 'http://plain:2'],
    ['https://a.example/', { ...both, https_proxy: 'https://ann:word@lower:3' }, 'https://lower:3'],
    ['https://a.example/', { HTTP_PROXY: 'http://plain:2', HTTPS_PROXY: '' }, undefined],
    ['https://a.example/', {}, undefined],
  ])('is set for the scheme, lower case first: %s with %j', (url, env, expected) => {
    expect(proxied(url, env)).toBe(expected)
  })

  it.each([
    ['https://shop.example/', 'shop.example', true],
    ['https://www.shop.example/', 'shop.example', true],
    ['https://myshop.example/', 'shop.example', false],
    ['https://shop.example/', '.shop.example', false],
    ['https://www.shop.example/', 'other.example, *.SHOP.example', true],
    ['https://shop.example:8443/', 'shop.example:8443', true],
    ['https://shop.example/', 'shop.example:8443', false],
    ['https://shop.example/', 'shop.example:443', true],
    ['https://10.1.2.3/', '10.0.0.0/8', true],
    ['https://11.1.2.3/', '10.0.0.0/8', false],
    ['https://[fd00::7]/', 'fd00::/8', true],
    ['https://[fd00::7]:1/', '[fd00::7]:1', true],
    ['https://shop.example/', '*', true],
    ['https://shop.example/', ' , ', false],
  ])('is none if NO_PROXY lists the host: %s with "%s"', (url, list, excluded) => {
    expect(proxied(url, { ...both, NO_PROXY: list }) === undefined).toBe(excluded)
  })

  it.each([
    'http://localhost:3000/',
    'https://sub.localhost/',
    'http://127.8.9.1/',
    'http://[::1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://2130706433/',
  ])('is none for this machine: %s', (url) => {
    expect(proxied(url, both)).toBeUndefined()
  })
})
