import { HttpTransport } from '@tmcp/transport-http'
import { StdioTransport } from '@tmcp/transport-stdio'
import { listenWeb } from '../web.ts'
import { createFixture } from './definition.ts'

/** The fixture on tmcp: `main.ts stdio|http`. */
const [how] = process.argv.slice(2)

if (how === 'http') {
  const transport = new HttpTransport(createFixture(), { path: '/mcp' })
  listenWeb((request) => transport.respond(request))
} else {
  new StdioTransport(createFixture()).listen()
}
