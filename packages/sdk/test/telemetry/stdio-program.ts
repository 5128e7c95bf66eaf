import { serveStdio } from '../../src/serve/stdio.ts'
import { createShop } from './shop.ts'
import { startTracing } from './tracing.ts'

startTracing()
serveStdio(createShop())
