import { chmodSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { buildApp } from './build-app.ts'
import { buildHost } from './build-host.ts'
import { buildSdk } from './build-sdk.ts'
import { buildWeb } from './build-web.ts'
import { run } from './run.ts'

const limitMs = 300_000

const types = await run(['tsc', '--build'], { limitMs })
if (types.code !== 0) {
  console.log(types.output)
  process.exit(types.code)
}
await buildSdk()
await buildHost()
await buildWeb()
await buildApp()

// npm makes programs executable when it installs a package, which a workspace is not built for yet.
for (const manifest of globSync('{packages,servers}/*/package.json')) {
  const { bin = {} }: { bin?: Record<string, string> } = JSON.parse(readFileSync(manifest, 'utf8'))
  for (const program of Object.values(bin)) chmodSync(join(dirname(manifest), program), 0o755)
}
