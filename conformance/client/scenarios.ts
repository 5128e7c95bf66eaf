import { type Client, type ConnectOptions, connect } from '@jackfield/sdk/client'
import { authScenarios } from './auth.ts'
import { options as common, type ScenarioClient, type ScenarioContext } from './scenario.ts'
import { skillScenarios } from './skills.ts'

/** The client of each scenario of the suite, by the name of the scenario. */
export const scenarios: Readonly<Record<string, ScenarioClient | undefined>> = {
  ...authScenarios,
  ...skillScenarios,

  initialize: connected(async (client) => {
    await client.tools()
  }),

  tools_call: connected(async (client) => {
    await client.tools()
    await client.call('add_numbers', { a: 5, b: 3 })
  }),

  'elicitation-sep1034-client-defaults': connected(
    async (client) => {
      await client.tools()
      await client.call('test_client_elicitation_defaults')
    },
    { onElicit: () => ({ action: 'accept', content: {} }) },
  ),

  'sse-retry': connected(async (client) => {
    await client.tools()
    await client.call('test_reconnection')
  }),

  'request-metadata': connected(
    async (client) => {
      await client.tools()
    },
    {
      onElicit: () => ({ action: 'decline' }),
      onSample: () => ({ role: 'assistant', content: { type: 'text', text: 'Nothing' }, model: 'none' }),
      onRoots: [],
    },
  ),

  'http-standard-headers': connected(async (client) => {
    await client.tools()
    await client.call('test_headers')
    await client.resources()
    await client.read('file:///path/to/file%20name.txt')
    await client.prompts()
    await client.prompt('test_prompt')
  }),

  'http-custom-headers': connected(async (client, { toolCalls = [] }) => {
    await client.tools()
    for (const { name, arguments: args } of toolCalls) await client.call(name, args)
  }),

  'http-invalid-tool-headers': connected(async (client) => {
    for (const { name } of await client.tools()) await client.call(name, { region: 'us-west1' })
  }),

  'sep-2322-client-request-state': connected(
    async (client) => {
      await client.tools()
      await client.call('test_mrtr_echo_state')
      await client.call('test_mrtr_no_state')
      await client.call('test_mrtr_unrelated')
      await client.call('test_mrtr_no_result_type')
    },
    { onElicit: () => ({ action: 'accept', content: { confirmed: true } }) },
  ),

  'json-schema-ref-no-deref': connected(async (client) => {
    await client.tools()
  }),

  'json-schema-2020-12-preservation': connected(async (client) => {
    const tools = await client.tools()
    const schema = tools.find(({ name }) => name === 'json_schema_2020_12_tool')?.inputSchema
    if (schema === undefined) throw new Error('The server lists no json_schema_2020_12_tool')
    await client.call('json_schema_echo', { schema })
  }),
}

/** A client with one connection, whose revision is negotiated. */
function connected(
  run: (client: Client, context: ScenarioContext) => Promise<void>,
  options: ConnectOptions = {},
): ScenarioClient {
  return async (url, context) => {
    await using client = await connect(url, { ...common, ...options })
    await run(client, context)
  }
}
