import { describe, expect, it } from 'vitest'
import { parseConfig } from '../../../packages/host/src/config/config.ts'
import { bundleIn } from '../../../packages/host/src/registry/download.ts'
import { planFrom } from '../../../packages/host/src/registry/plan.ts'
import { hostOf, zoneOfAddress } from '../../../packages/sdk/src/client/auth/address.ts'

/** What the language calls where an object should be a text, and what is no function. */
const named = { a: 1, toString: 'a' }

describe('an object in the place of a name', () => {
  it('of a published server is refused in words', () => {
    const packages = [{ registryType: 'mcpb', identifier: 'https://a.example/x.mcpb' }]
    expect(() => bundleIn({ name: named, packages })).toThrow('an object does not say which bundle it means')
    expect(() => planFrom({ name: named, packages })).toThrow('an object cannot be installed')
    expect(() =>
      planFrom({ name: named, packages: [{ registryType: 'npm', identifier: '-x', version: '1.0.0' }] }),
    ).toThrow('an object has a package with a identifier that cannot be one')
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
