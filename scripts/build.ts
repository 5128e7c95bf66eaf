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
