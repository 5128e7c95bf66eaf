import { execFileSync, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { here } from '../place.ts'

// Builds the application in `next/` and serves it as `next start` does.
const next = here('node_modules/next/dist/bin/next')
const folder = here('next')
const env = { ...process.env, NODE_ENV: 'production' as const, NEXT_TELEMETRY_DISABLED: '1' }

execFileSync(process.execPath, [next, 'build', folder], { env, stdio: ['ignore', 'ignore', 'inherit'] })
const child = spawn(process.execPath, [next, 'start', folder, '--port', '0', '--hostname', '127.0.0.1'], {
  env,
  stdio: ['ignore', 'pipe', 'inherit'],
})
process.once('SIGTERM', () => child.kill())
child.once('exit', (code) => process.exit(code ?? 1))
createInterface(child.stdout).on('line', (line) => {
  const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(line) ?? []
  if (url !== undefined && line.includes('Local')) console.log(url)
})
