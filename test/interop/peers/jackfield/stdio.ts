import { serveStdio } from '@jackfield/sdk/stdio'
import { createFixture } from './definition.ts'

serveStdio(createFixture())
