import { createServer } from 'node:http'
import { serveHttp } from '@jackfield/sdk/http'
import { checkListening, keys, server } from './shop.ts'

const listening = createServer(serveHttp(server, { keys }).node)

listening.listen(0, '127.0.0.1', () => checkListening(listening, '/mcp'))
