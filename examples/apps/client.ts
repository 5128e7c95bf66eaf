import { deepEqual } from 'node:assert/strict'
import { connect } from '@jackfield/sdk/client'
import { stdio } from '@jackfield/sdk/client/stdio'
import { appMimeType, uiExtension } from '@jackfield/sdk/extensions/ui'

const weather = stdio({ command: 'node', args: ['examples/apps/server.ts'] })

const host = await connect(weather, {
  extensions: [{ id: uiExtension, settings: { mimeTypes: [appMimeType] } }],
})
const [forecast, refresh] = await host.tools()
deepEqual([forecast?.name, refresh?.name], ['forecast', 'refresh'])
const { contents } = await host.read('ui://weather/board')
deepEqual(contents[0]?.mimeType, appMimeType)
await host.close()

const plain = await connect(weather)
const tools = await plain.tools()
deepEqual(
  tools.map(({ name, _meta }) => [name, _meta]),
  [['forecast', undefined]],
)
const { content } = await plain.call('forecast')
deepEqual(content, [{ type: 'text', text: 'Sun, then rain.' }])
await plain.close()
console.log('A host gets the board and its button; a client without apps gets the forecast as text.')
