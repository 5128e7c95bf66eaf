import process from 'node:process'
import { play, type Targets } from './checks.ts'

// `client.ts <targets as JSON>` for runtimes with a command line.
const targets: Targets = JSON.parse(process.argv.at(-1) ?? '')
console.log(JSON.stringify(await play(targets)))
process.exit()
