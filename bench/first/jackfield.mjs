import { defineServer, tool } from '@jackfield/sdk'
import { serveStdio } from '@jackfield/sdk/stdio'

const echo = tool({ description: 'Says hello', run: () => 'Hello' })

serveStdio(defineServer({ name: 'first', version: '1.0.0', tools: { echo } }))
