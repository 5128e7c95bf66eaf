import { describe, expect, test } from 'vitest'
import { article, clientFor, clientOf, contentOf, refusal, siteOf } from './fixture.ts'

/** Whether a path may be fetched with this robots.txt. */
async function isAllowed(robots: string, path: string): Promise<boolean> {
  const site = await siteOf({ '/robots.txt': { type: 'text/plain', body: robots }, [path]: article('') })
  const result = await (await clientFor(site)).call('fetch', { url: site.url + path })
  expect(site.requests.some((request) => request.path === path)).toBe(result.isError !== true)
  return result.isError !== true
}

describe('robots.txt', () => {
  test.each([
    ['an empty file', '', '/a', true],
    ['everything', 'User-agent: *\nDisallow: /', '/a', false],
    ['an empty rule', 'User-agent: *\nDisallow:', '/a', true],
    ['a path', 'User-agent: *\nDisallow: /private', '/private/a', false],
    ['another path', 'User-agent: *\nDisallow: /private', '/public', true],
    [
      'its own group before that of all',
      'User-agent: *\nDisallow: /\n\nUser-agent: jackfield-fetch\nDisallow: /b',
      '/a',
      true,
    ],
    ['its own group in any case', 'User-agent: JackField-Fetch/1.0\nDisallow: /', '/a', false],
    ['the group of another', 'User-agent: other\nDisallow: /', '/a', true],
    ['a group of several agents', 'User-agent: other\nUser-agent: jackfield-fetch\nDisallow: /', '/a', false],
    [
      'two groups of its own',
      'User-agent: jackfield-fetch\nDisallow: /a\nUser-agent: x\nDisallow: /\nUser-agent: jackfield-fetch\nDisallow: /b',
      '/b',
      false,
    ],
    ['the longest rule', 'User-agent: *\nDisallow: /a\nAllow: /a/b', '/a/b/c', true],
    ['the rule that allows among equals', 'User-agent: *\nDisallow: /a\nAllow: /a', '/a', true],
    ['a wildcard', 'User-agent: *\nDisallow: /*.php', '/x/index.php?a', false],
    ['an end', 'User-agent: *\nDisallow: /*.php$', '/index.php?a', true],
    ['an end that matches', 'User-agent: *\nDisallow: /*.php$', '/a.php/b.php', false],
    ['an exact path', 'User-agent: *\nDisallow: /a$', '/ab', true],
    ['an escaped path', 'User-agent: *\nDisallow: /caf%c3%a9', '/caf%C3%A9', false],
    ['an unescaped path', 'User-agent: *\nDisallow: /café', '/caf%C3%A9', false],
    ['a query', 'User-agent: *\nDisallow: /*?id=', '/a?id=1', false],
    [
      'comments, spaces and other line ends',
      '\ufeff# x\r\nuser-AGENT : * # all\r\n disallow : /a # b\r\nSitemap: /s',
      '/a',
      false,
    ],
    ['other fields within a group', 'User-agent: *\nCrawl-delay: 9\nDisallow: /a', '/a', false],
    ['what is no robots.txt', '<html>Disallow: /</html>', '/a', true],
    [
      'a rule with many wildcards',
      `User-agent: *\nDisallow: ${'/*a'.repeat(600)}$`,
      `/${'a/'.repeat(2_000)}`,
      true,
    ],
  ])('is followed: %s', async (_title, robots, path, expected) => {
    expect(await isAllowed(robots, path)).toBe(expected)
  })

  test.each([
    [404, true],
    [401, true],
    [403, true],
    [500, false],
    [503, false],
  ])('with status %i %s', async (status, expected) => {
    const site = await siteOf({ '/robots.txt': { status }, '/': article('') })
    const client = await clientFor(site)
    if (expected) expect(await contentOf(client, site.url)).toContain('paragraph')
    else {
      const text = await refusal(client, site.url)
      expect(text).toContain('robots.txt cannot be read')
      expect(text).toContain(`It has status ${status}.`)
    }
  })

  test('that cannot be reached disallows everything', async () => {
    const site = await siteOf({ '/robots.txt': (request) => void request.socket.destroy(), '/': article('') })
    const client = await clientFor(site)
    for (const _time of ['read', 'cached']) {
      const text = await refusal(client, site.url)
      expect(text).toContain('robots.txt cannot be read')
      expect(text).toContain(`${site.place} closed the connection.`)
    }
    expect(site.requests).toHaveLength(1)
  })

  test('is read once, redirects are followed, and a redirect of a page is checked too', async () => {
    const site = await siteOf({
      '/robots.txt': { status: 301, headers: { location: '/rules' } },
      '/rules': { type: 'text/plain', body: 'User-agent: *\nDisallow: /no' },
      '/yes': article(''),
      '/to-no': { status: 302, headers: { location: '/no' } },
      '/no': article(''),
    })
    const client = await clientFor(site)
    await Promise.all([contentOf(client, `${site.url}/yes`), contentOf(client, `${site.url}/yes`)])
    expect(await refusal(client, `${site.url}/to-no`)).toContain('does not allow automatic fetching')
    expect(site.requests.filter(({ path }) => path === '/rules')).toHaveLength(1)
    expect(site.requests.some(({ path }) => path === '/no')).toBe(false)
  })

  test('is ignored if the operator configures that', async () => {
    const site = await siteOf({ '/robots.txt': 'User-agent: *\nDisallow: /', '/': article('') })
    const client = await clientOf({ allowPrivate: [site.place], ignoreRobots: true })
    expect(await contentOf(client, site.url)).toContain('paragraph')
    expect(site.requests.map(({ path }) => path)).toEqual(['/'])
  })

  test('is matched by the first word of a configured user agent', async () => {
    const site = await siteOf({
      '/robots.txt': { type: 'text/plain', body: 'User-agent: mybot\nDisallow: /' },
      '/': article(''),
    })
    const client = await clientOf({
      allowPrivate: [site.place],
      userAgent: 'MyBot/2.0 (+https://example.org)',
    })
    expect(await refusal(client, site.url)).toContain('(user agent mybot)')
    expect(site.requests[0]?.headers['user-agent']).toBe('MyBot/2.0 (+https://example.org)')
  })
})
