import { scenarios } from './client/scenarios.ts'

const timeoutMs = 55_000

const scenario = process.env['MCP_CONFORMANCE_SCENARIO'] ?? ''
const url = process.argv.at(-1) ?? ''
const runClient = scenarios[scenario]

if (!URL.canParse(url)) fail(`Usage: MCP_CONFORMANCE_SCENARIO=<name> node conformance/client.ts <server URL>`)
if (runClient === undefined) {
  fail(`Unknown scenario "${scenario}". Scenarios: ${Object.keys(scenarios).join(', ')}`)
}

setTimeout(() => fail(`${scenario} did not finish within ${timeoutMs} ms`), timeoutMs).unref()
try {
  await runClient(url, JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}'))
} catch (error) {
  fail(error instanceof Error ? (error.stack ?? error.message) : String(error))
}
process.exit(0)

function fail(message: string): never {
  console.error(message)
  process.exit(1)
}
