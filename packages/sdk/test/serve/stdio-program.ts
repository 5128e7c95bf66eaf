import { serveStdio } from '../../src/transports/server/stdio.ts'
import { ask, hung, settle, type Tool, testServer } from './support.ts'

const noisy: Tool = () => {
  console.log('logged')
  console.info('informed')
  process.stdout.write('written\n')
  process.stderr.write('told\n')
  return 'quiet'
}
const slow: Tool = () => settle(50).then(() => 'slow')
const hangWithTimer: Tool = () => {
  setInterval(() => {}, 1000)
  return new Promise(() => {})
}
const chatty: Tool = async (_args, { notify, signal }) => {
  while (!signal.aborted) {
    notify({ method: 'notifications/progress', params: { progressToken: 'p', progress: 1 } })
    await settle(0)
  }
}

const large: Tool = () => 'x'.repeat(4_000_000)

if (process.argv.includes('timer')) setInterval(() => {}, 1000)
const impatient = { limits: { streamStallMs: 200 } }
serveStdio(testServer({ ask, noisy, slow, hung, hangWithTimer, chatty, large }), {
  ...(process.argv.includes('impatient') ? impatient : {}),
  outlives: process.argv.includes('outlives'),
})
