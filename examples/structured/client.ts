import { deepEqual, equal } from 'node:assert/strict'
import { connect } from '@jackfield/sdk/client'
import { serveHttp } from '@jackfield/sdk/http'
import { weather } from './server.ts'

const { url, close } = await serveHttp(weather, {
  keys: [crypto.getRandomValues(new Uint8Array(32))],
}).listen()

// Only the type is needed: a client in another program imports it with `import type`.
const client = await connect<typeof weather>(url)
const { structuredContent } = await client.call('forecast', { city: 'Oslo', days: 3 })
const highs: number[] = structuredContent?.highs ?? []
deepEqual(highs, [20, 21, 22])

// @ts-expect-error unknown tool
const unknown = await client.call('forecasts', {}).catch((error: unknown) => error)
equal(unknown instanceof Error, true)

// @ts-expect-error `city` is a string
const wrong = await client.call('forecast', { city: 7 })
equal(wrong.isError, true)

await client.close()
await close()
console.log(
  `Highs in Oslo: ${highs.join(', ')}. The compiler knew tools, arguments and results, and the server checked them.`,
)
