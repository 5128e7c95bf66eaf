import { prompt, resource, template } from '@jackfield/sdk'
import { z } from 'zod'
import { png } from './samples.ts'

export const resources = {
  'static-text': resource({
    uri: 'test://static-text',
    description: 'A static text resource for testing',
    mimeType: 'text/plain',
    read: () => 'This is the content of the static text resource.',
  }),
  'static-binary': resource({
    uri: 'test://static-binary',
    description: 'A static image for testing',
    mimeType: 'image/png',
    read: () => Buffer.from(png, 'base64'),
  }),
  'watched-resource': resource({
    uri: 'test://watched-resource',
    description: 'A resource that clients can subscribe to',
    mimeType: 'text/plain',
    read: () => 'Watched resource content',
  }),
  template: template({
    uriTemplate: 'test://template/{id}/data',
    description: 'A resource template with one variable',
    mimeType: 'application/json',
    read: ({ id }) => JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
  }),
}

export const prompts = {
  test_simple_prompt: prompt({
    description: 'A prompt without arguments',
    run: () => 'This is a simple prompt for testing.',
  }),
  test_prompt_with_arguments: prompt({
    description: 'A prompt with two required arguments',
    input: z.object({
      arg1: z.string().describe('First test argument'),
      arg2: z.string().describe('Second test argument'),
    }),
    complete: {
      arg1: (value) => ['testValue1', 'testValue2', 'other'].filter((option) => option.startsWith(value)),
    },
    run: ({ arg1, arg2 }) => `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`,
  }),
  test_prompt_with_embedded_resource: prompt({
    description: 'A prompt with an embedded resource',
    input: z.object({ resourceUri: z.string().describe('URI of the resource to embed') }),
    run: ({ resourceUri }) => [
      {
        role: 'user',
        content: {
          type: 'resource',
          resource: {
            uri: resourceUri,
            mimeType: 'text/plain',
            text: 'Embedded resource content for testing.',
          },
        },
      },
      { role: 'user', content: { type: 'text', text: 'Please process the embedded resource above.' } },
    ],
  }),
  test_prompt_with_image: prompt({
    description: 'A prompt with an image',
    run: () => [
      { role: 'user', content: { type: 'image', data: png, mimeType: 'image/png' } },
      { role: 'user', content: { type: 'text', text: 'Please analyze the image above.' } },
    ],
  }),
}
