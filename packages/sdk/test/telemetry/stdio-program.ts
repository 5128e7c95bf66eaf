import { serveStdio } from '../../src/transports/server/stdio.ts'
import { createShop } from './shop.ts'
import { startTracing } from './tracing.ts'

startTracing()
serveStdio(createShop())
