import { serveStdio } from '../../src/transports/server/stdio.ts'
import { isServerName, servers } from './servers.ts'

const [, , name = ''] = process.argv
if (!isServerName(name)) throw new TypeError(`There is no server "${name}"`)
serveStdio(servers[name]())
