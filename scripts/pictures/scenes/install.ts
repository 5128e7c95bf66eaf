import { createServer } from 'node:http'
import type { Scene } from '../studio.ts'

/** It can be read in the picture. */
const port = 8976

const weather = {
  name: 'io.github.ann/weather',
  description: 'Says how the weather is',
  version: '1.4.0',
  repository: { url: 'https://example.org/ann/weather', source: 'github' },
  packages: [
    {
      registryType: 'npm',
      identifier: '@ann/weather',
      version: '1.4.0',
      transport: { type: 'stdio' },
      packageArguments: [{ type: 'named', name: '--units', default: 'metric' }],
      environmentVariables: [{ name: 'WEATHER_TOKEN', isRequired: true, isSecret: true }],
    },
  ],
}

/** A published server, found in a registry and installed. */
export const install: Scene = {
  pictures: ['registry', 'install'],
  async record(studio) {
    studio.configure({ mcpServers: {} })
    const registry = createServer(({ url = '' }, response) => {
      const isOne = url.includes('/versions/')
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(isOne ? entry : { servers: [entry], metadata: { count: 1 } }))
    })
    await new Promise<void>((resolve) => registry.listen(port, '127.0.0.1', resolve))
    const env = { JACKFIELD_REGISTRY: `http://127.0.0.1:${port}` }
    try {
      await studio.shows('registry', 'Servers that others published', 'jackfield registry search weather', {
        env,
      })
      await using shell = studio.shell({ env })
      await shell.enter('jackfield install io.github.ann/weather --no-start')
      await shell.until('Install it?')
      await shell.settled()
      studio.capture('install', 'What would run is shown before you agree', shell)
      await shell.close()
    } finally {
      registry.close()
    }
  },
}

const entry = {
  server: weather,
  _meta: {
    'io.modelcontextprotocol.registry/official': {
      status: 'active',
      publishedAt: '2027-01-02T03:04:05Z',
      isLatest: true,
    },
  },
}
