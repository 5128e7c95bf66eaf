import { defineServer, resource, template, tool } from '@jackfield/sdk'
import { serveStdio } from '@jackfield/sdk/stdio'
import { z } from 'zod'

const pages = new Map([
  ['home', 'Welcome.'],
  ['help', 'Ask.'],
])

const server = defineServer({
  name: 'wiki',
  version: '1.0.0',
  resources: {
    index: resource({
      uri: 'wiki://index',
      mimeType: 'text/plain',
      read: () => [...pages.keys()].join('\n'),
    }),
    page: template({
      uriTemplate: 'wiki://pages/{name}',
      mimeType: 'text/plain',
      complete: { name: (typed) => [...pages.keys()].filter((name) => name.startsWith(typed)) },
      // `undefined` means that the resource does not exist.
      read: ({ name }) => pages.get(name),
    }),
  },
  tools: {
    write: tool({
      description: 'Writes a page',
      input: z.object({ name: z.string(), text: z.string() }),
      run({ name, text }) {
        pages.set(name, text)
        server.resourceUpdated('wiki://index')
        server.resourceUpdated(`wiki://pages/${encodeURIComponent(name)}`)
        return 'Written.'
      },
    }),
  },
})
serveStdio(server)
