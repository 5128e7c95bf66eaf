// A server that sends hostile texts in every field: `node hostile-server.ts <seed> <count>`.
import { createInterface } from 'node:readline'
import { Random } from '../random.ts'
import { hostileText } from './hostile-text.ts'

const [seed = '0', count = '1'] = process.argv.slice(2)
const random = new Random(Number(seed))
const texts = Array.from({ length: Number(count) }, (_, n) => `(${n} ${hostileText(random)} ${n})`)
const all = texts.join('\n')

/** Definitions that do not get the server disabled. */
const quiet = ['tell', 'fail'].map((name) => ({ name, inputSchema: { type: 'object' } }))
const tools = texts.map((text, n) => ({
  name: n % 2 === 0 ? `t${n}` : `t${n}${text}`,
  title: text,
  description: text,
  inputSchema: {
    type: 'object',
    properties: { [text]: { type: 'string', description: text, enum: [text] } },
  },
  annotations: { title: text },
}))
const answers: Record<string, object> = {
  initialize: {
    protocolVersion: '2025-11-25',
    capabilities: { tools: {}, prompts: {}, resources: {}, logging: {} },
    serverInfo: { name: `hostile${texts[0]}`, title: texts[0], version: `1${texts[0]}` },
    instructions: all,
  },
  'tools/list': { tools: [...quiet, ...tools] },
  'prompts/list': {
    prompts: texts.map((text, n) => ({
      name: `p${n}${text}`,
      title: text,
      description: text,
      arguments: [{ name: `a${text}`, description: text }],
    })),
  },
  'resources/list': {
    resources: texts.map((text, n) => ({
      uri: `memo://${n}/${encodeURIComponent(text)}`,
      name: `r${n}${text}`,
      title: text,
      description: text,
      mimeType: text,
    })),
  },
  'resources/templates/list': {
    resourceTemplates: texts.map((text, n) => ({
      uriTemplate: `memo://${n}/{x}`,
      name: text,
      description: text,
    })),
  },
  'resources/read': { contents: [{ uri: 'memo://0', mimeType: 'text/plain', text: all }] },
  'logging/setLevel': {},
}
const textResult = (name: unknown): object =>
  name === 'tell'
    ? {
        result: {
          content: [
            { type: 'text', text: all },
            { type: 'resource_link', uri: 'memo://0', name: all },
          ],
        },
      }
    : { error: { code: -32050, message: all, data: { [all]: all } } }

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) return
  const send = (message: object): void => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }))
  if (method === 'tools/call') {
    process.stderr.write(`${all}\n`)
    for (const text of texts.slice(0, 50)) {
      send({ method: 'notifications/message', params: { level: 'error', logger: text, data: text } })
    }
    send({ id, ...textResult(params?.name) })
  } else if (answers[method] !== undefined) send({ id, result: answers[method] })
  else send({ id, error: { code: -32601, message: all } })
})
