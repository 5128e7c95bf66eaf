import { serve } from '@hono/node-server'
import { honoApp } from './hono-app.ts'

const { fetch } = honoApp()
serve({ fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) => console.log(`http://127.0.0.1:${port}/`))
