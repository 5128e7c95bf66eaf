import { serveHttp } from '@jackfield/sdk/http'
import express from 'express'
import { checkListening, keys, server } from './shop.ts'

const app = express()
app.all('/mcp', serveHttp(server, { keys }).node)

const listening = app.listen(0, '127.0.0.1', () => checkListening(listening, '/mcp'))
