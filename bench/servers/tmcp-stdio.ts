import { StdioTransport } from '@tmcp/transport-stdio'
import { ready } from './host.ts'
import { server } from './tmcp-server.ts'

new StdioTransport(server).listen()
ready()
