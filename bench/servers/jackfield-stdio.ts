import { serveStdio } from '@jackfield/sdk/stdio'
import { ready } from './host.ts'
import { server } from './jackfield-server.ts'

serveStdio(server)
ready()
