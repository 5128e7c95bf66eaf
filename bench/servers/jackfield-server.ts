import { defineServer, tool } from '@jackfield/sdk'
import { echoInput, otherInput, others } from './host.ts'

const echo = tool({ description: 'Says it again', input: echoInput, run: ({ text }) => text })
const other = tool({ description: 'Looks something up', input: otherInput, run: ({ query }) => query })

export const server = defineServer({
  name: 'jackfield-bench',
  version: '1.0.0',
  tools: { echo, ...Object.fromEntries(others.map((name) => [name, other])) },
})
