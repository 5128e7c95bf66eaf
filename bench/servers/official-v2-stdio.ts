import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { ready } from './host.ts'
import { createServer } from './official-v2-server.ts'

serveStdio(createServer)
ready()
