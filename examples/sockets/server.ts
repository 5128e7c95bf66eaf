import { defineServer, tool } from '@jackfield/sdk'
import { type SocketServer, serveSocket } from '@jackfield/sdk/socket'

let visits = 0
const counter = defineServer({
  name: 'counter',
  version: '1.0.0',
  tools: { visit: tool({ description: 'Counts a visit', run: () => `Visit ${++visits}` }) },
})

/** Serves the state of a process to all programs of this user, through a socket file that only they can open. */
export function startCounter(path: string): Promise<SocketServer> {
  return serveSocket(counter, { path })
}
