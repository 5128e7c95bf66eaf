import { serveStdio } from '@jackfield/sdk/stdio'
import { isServerName, servers } from './servers.ts'

const [, , name = ''] = process.argv
if (!isServerName(name)) throw new TypeError(`There is no server "${name}"`)
serveStdio(servers[name]())
