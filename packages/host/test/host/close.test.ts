import { expect, test } from 'vitest'
import { hostOf, session, until } from '../fixtures/hosts.ts'
import { person } from '../fixtures/people.ts'

test('a host that closes while a configuration input is open does not start the server', async () => {
  const asked: string[] = []
  const { config, ran } = session()
  const host = hostOf({
    servers: {
      s: {
        ...config,
        // biome-ignore lint/suspicious/noTemplateCurlyInString: a value of a configuration
        env: { ...('env' in config ? config.env : {}), KEY: '${input:key}' },
        from: { file: '/none/mcp.json', layer: 'user', inputs: [{ id: 'key', description: 'A key' }] },
      },
    },
    surface: person({
      input: ({ cause }) => {
        asked.push(cause.server)
        return new Promise(() => {})
      },
    }),
  })
  const starting = host.start()
  await until(() => asked.length === 1, 'the value is asked for')
  await host.close()
  await starting
  expect(host.connections.get('s')).toMatchObject({ state: 'failed', reason: 'the host was closed' })
  expect(ran()).toEqual([])
})
