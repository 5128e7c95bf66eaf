import { scenarios } from './client/scenarios.ts'

const limitMs = 55_000

const scenario = process.env['MCP_CONFORMANCE_SCENARIO'] ?? ''
const url = process.argv.at(-1) ?? ''
const play = scenarios[scenario]

if (!URL.canParse(url)) fail(`Usage: MCP_CONFORMANCE_SCENARIO=<name> node conformance/client.ts <server URL>`)
if (play === undefined) {
  fail(`No such scenario here: "${scenario}". Known are: ${Object.keys(scenarios).join(', ')}`)
}

setTimeout(() => fail(`${scenario} did not finish within ${limitMs} ms`), limitMs).unref()
try {
  await play(url, JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}'))
} catch (error) {
  fail(error instanceof Error ? (error.stack ?? error.message) : String(error))
}
process.exit(0)

function fail(why: string): never {
  console.error(why)
  process.exit(1)
}
