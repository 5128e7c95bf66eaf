import { createMcpHandler } from '@modelcontextprotocol/server'
import { listenFetch } from './fetch.ts'
import { createServer } from './official-v2-server.ts'

listenFetch(createMcpHandler(createServer))
