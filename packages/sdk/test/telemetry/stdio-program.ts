import { serveStdio } from '@jackfield/sdk/stdio'
import { createShop } from './shop.ts'
import { startTracing } from './tracing.ts'

startTracing()
serveStdio(createShop())
