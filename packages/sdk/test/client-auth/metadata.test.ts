import { describe, expect, it } from 'vitest'
import { authority } from './support/authority.ts'
import { open, person, protectedServer } from './support/protected-server.ts'

const oauth2 = '/.well-known/oauth-authorization-server'
const oidc = '/.well-known/openid-configuration'

describe('an authorization server', () => {
  it.each([
    ['', oauth2],
    ['', oidc],
    ['/tenant', `${oauth2}/tenant`],
    ['/tenant', `${oidc}/tenant`],
    ['/tenant', `/tenant${oidc}`],
  ])('with the issuer path "%s" must say at %s that it supports PKCE', async (path, place) => {
    for (const methods of [undefined, ['plain']]) {
      const one = await protectedServer(await authority(path))
      one.as.metadataPath = place
      one.as.metadata = { code_challenge_methods_supported: methods }
      const { auth, opened } = person()
      await expect(open(one, auth)).rejects.toMatchObject({
        code: 'UNAUTHORIZED',
        message: expect.stringContaining('PKCE'),
      })
      expect(opened).toEqual([])
      expect([...one.as.at(`${path}/register`), ...one.as.at(`${path}/token`)]).toEqual([])
    }
  })

  it.each([
    'javascript:alert(1)',
    'JavaScript:alert(1)//https://as.example',
    'data:text/html,<script>alert(1)</script>',
    'file:///etc/passwd',
    'vbscript:msgbox',
    'ms-settings:privacy',
    'http://as.example/authorize',
    'https://a:b@as.example/authorize',
    'no URL at all',
  ])('sends no user to %s', async (page) => {
    const one = await protectedServer()
    one.as.metadata = { authorization_endpoint: page }
    const { auth, opened } = person()
    await expect(open(one, auth)).rejects.toMatchObject({ code: 'UNAUTHORIZED' })
    expect(opened).toEqual([])
  })
})

describe('a resource identifier', () => {
  it('may be in upper case in its case-insensitive parts', async () => {
    const one = await protectedServer()
    const resource = one.url.replace('http:', 'HTTP:')
    one.resource = { ...one.resource, resource }
    const { auth, opened } = person()
    await open(one, auth)
    expect(opened[0]?.searchParams.get('resource')).toBe(resource)
  })

  it('may not differ in the case of its path', async () => {
    const one = await protectedServer()
    one.resource = { ...one.resource, resource: one.url.replace('/mcp', '/MCP') }
    const { auth, opened } = person()
    await expect(open(one, auth)).rejects.toMatchObject({ code: 'UNAUTHORIZED' })
    expect(opened).toEqual([])
  })
})
