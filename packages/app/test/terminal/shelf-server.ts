// A server on stdio with documents, a template whose variables it completes, a resource for the person alone, and
// resources that it means for a model with more and less priority.
import { defineServer, resource, template } from '@jackfield/sdk'
import { serveStdio } from '@jackfield/sdk/stdio'

const text = (words: number, word = 'word'): string => `${word} `.repeat(words).trim()

const server = defineServer({
  name: 'shelf',
  version: '1.0.0',
  resources: {
    plan: resource({
      uri: 'doc://plan',
      title: 'The plan',
      description: 'What is to be done this year, and who does it',
      mimeType: 'text/markdown',
      size: 1_000,
      read: () => text(200),
    }),
    notes: resource({ uri: 'doc://notes', title: 'Notes', mimeType: 'text/plain', read: () => text(100) }),
    diary: resource({
      uri: 'doc://diary',
      title: 'Diary',
      annotations: { audience: ['user'] },
      read: () => 'secret',
    }),
    rules: resource({
      uri: 'doc://rules',
      title: 'House rules',
      annotations: { audience: ['assistant'], priority: 1 },
      read: () => 'Always answer in rhyme.',
    }),
    trivia: resource({
      uri: 'doc://trivia',
      title: 'Trivia',
      annotations: { audience: ['assistant'], priority: 0.2 },
      read: () => 'The cellar is damp.',
    }),
    tome: resource({
      uri: 'doc://tome',
      title: 'Tome',
      annotations: { audience: ['assistant'], priority: 0.9 },
      read: () => text(20_000),
    }),
    page: template({
      uriTemplate: 'book://{book}/page/{page}',
      title: 'A page',
      complete: {
        book: (value) => ['almanac', 'atlas'].filter((one) => one.startsWith(value)),
        page: (value, { arguments: { book } }) =>
          ['1', '2'].map((page) => `${book}-${page}`).filter((one) => one.startsWith(value)),
      },
      read: ({ book, page }) => `Page ${page} of ${book}.`,
    }),
  },
})

await serveStdio(server)
