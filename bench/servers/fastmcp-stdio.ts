import { server } from './fastmcp-server.ts'
import { ready } from './host.ts'

await server.start({ transportType: 'stdio' })
ready()
