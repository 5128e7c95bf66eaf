import { stdio } from '@jackfield/sdk/client/stdio'
import { proxy } from '@jackfield/sdk/compose'
import { serveHttp } from '@jackfield/sdk/http'

// Serves a stdio server over HTTP to clients of every revision, and forwards its questions to them.
const shop = await proxy(stdio({ command: 'node', args: ['examples/quickstart/server.ts'] }), {
  name: 'shop-over-http',
  use: [
    async (exchange, next) => {
      const began = performance.now()
      const outcome = await next(exchange)
      console.error(`${exchange.method}: ${outcome.type}, ${Math.round(performance.now() - began)} ms`)
      return outcome
    },
  ],
})
const { url } = await serveHttp(shop, { keys: [crypto.getRandomValues(new Uint8Array(32))] }).listen()
console.log(url)
