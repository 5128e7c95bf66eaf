import { serveStdio } from '../../src/serve/stdio.ts'
import { createMatrixServer } from './matrix-server.ts'

serveStdio(createMatrixServer())
