import { Lane } from './lane.ts'
import { enter, occupy } from './visits.ts'

// A process with sessions that is there to be killed. For each line on stdin it begins one and answers with a line.

const port = Number(process.argv[2])

process.stdin.on('data', async (chunk: Buffer) => {
  for (const _ of chunk.toString().trim().split('\n')) {
    await occupy(port, await enter(new Lane(port)))
    process.stdout.write('.\n')
  }
})
