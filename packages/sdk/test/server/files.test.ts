import { defineServer, template } from '@jackfield/sdk'
import { expect, test } from 'vitest'
import { request } from './support.ts'

const read = (variables: object) => JSON.stringify(variables)
const server = defineServer({
  name: 'files',
  version: '1.0.0',
  resources: {
    one: template({ uriTemplate: 'file:///notes/{name}', read }),
    any: template({ uriTemplate: 'file:///docs/{+path}', read }),
    few: template({ uriTemplate: 'file:///few/{a}/{b}', read }),
    page: template({ uriTemplate: 'page://{+path}', read }),
  },
})
const get = (uri: string) => request(server, 'resources/read', { uri })

test.each([
  'file:///notes/..',
  'file:///notes/%2e%2e',
  'file:///notes/..%2f..%2fetc%2fpasswd',
  'file:///notes/a%2F..%2F..%2Fb',
  'file:///notes/..%5c..%5cwindows',
  'file:///notes/a%00.txt',
  'file:///docs/../secret',
  'file:///docs/a/../../secret',
  'FILE:///docs/../secret',
  'file:///few/%2E%2E/x',
  'file:///few/x/..',
])('%s names no file', async (uri) => {
  await expect(get(uri)).rejects.toMatchObject({ message: 'Resource not found' })
})

test.each([
  ['file:///notes/a..b', '{"name":"a..b"}'],
  ['file:///notes/...', '{"name":"..."}'],
  ['file:///docs/a/b.txt', '{"path":"a/b.txt"}'],
  ['page://a/../b', '{"path":"a/../b"}'],
])('%s is read', async (uri, variables) => {
  expect(await get(uri)).toMatchObject({ contents: [{ text: variables }] })
})
