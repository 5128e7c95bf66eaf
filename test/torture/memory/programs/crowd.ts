import { HttpConnection } from './http-connection.ts'
import { keepBusy, openSession } from './http-session.ts'

// A process with sessions that is there to be killed. For each line on stdin it begins one and answers with a line.

const port = Number(process.argv[2])

process.stdin.on('data', async (chunk: Buffer) => {
  for (const _ of chunk.toString().trim().split('\n')) {
    await keepBusy(port, await openSession(new HttpConnection(port)))
    process.stdout.write('.\n')
  }
})
