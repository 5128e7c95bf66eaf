import { defineServer, prompt, type Server, tool } from '@jackfield/sdk'
import { skills } from '@jackfield/sdk/extensions/skills'
import { tasks } from '@jackfield/sdk/extensions/tasks'
import { askingPrompts, askingTools } from './asking.ts'
import { prompts, resources } from './data.ts'
import { skillValues } from './skills.ts'
import { taskTools } from './tasks.ts'
import { tools } from './tools.ts'

/** The server that the scenarios of the official suites require. */
export function createConformanceServer(): Server {
  const server: Server = defineServer({
    name: 'jackfield-conformance',
    version: '1.0.0',
    instructions: 'A server for the conformance suites.',
    tools: { ...tools, ...askingTools, ...taskTools },
    extensions: [tasks({ pollIntervalMs: 200 }), skills(skillValues)],
    resources,
    prompts: { ...prompts, ...askingPrompts },
  })
  let changes = 0
  server.add({
    tools: {
      test_trigger_tool_change: tool({
        description: 'Replaces a tool',
        run() {
          const description = `Changed ${++changes} times`
          server.add({ tools: { test_changing_tool: tool({ description, run: () => description }) } })
          return description
        },
      }),
      test_trigger_prompt_change: tool({
        description: 'Replaces a prompt',
        run() {
          const description = `Changed ${++changes} times`
          server.add({ prompts: { test_changing_prompt: prompt({ description, run: () => description }) } })
          return description
        },
      }),
      test_trigger_resource_update: tool({
        description: 'Notifies subscribers of test://watched-resource',
        run() {
          server.resourceUpdated('test://watched-resource')
          return 'Notified'
        },
      }),
    },
  })
  return server
}
