// Plays the one server of a recording back on stdio.
import { readFileSync } from 'node:fs'
import { parseRecording, playBack } from '@jackfield/host'

const { servers } = parseRecording(readFileSync(process.argv[2] ?? '', 'utf8'))
const [server] = Object.values(servers)
if (server !== undefined) await playBack(server, { input: process.stdin, output: process.stdout })
