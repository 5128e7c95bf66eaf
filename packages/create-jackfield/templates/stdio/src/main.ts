import { serveStdio } from '@jackfield/sdk/stdio'
import { createServer } from './server.ts'

// stdout carries the protocol: log with console.error.
serveStdio(createServer())
