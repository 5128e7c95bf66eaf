import { createHash } from 'node:crypto'
import { CheckFailed, judge, onlyFor, summarize } from '../checks.ts'
import { writeConfig } from '../commands.ts'
import { RawClient } from '../raw-client.ts'
import { pause } from '../start-process.ts'
import type { FixtureServer, RunningProcess, Script, Verdict, Workspace } from '../types.ts'

const noGateway = 'has no gateway for other programs'
const noApproval = 'asks for no approval of calls'
const noRules = 'has no rules for calls'

interface GatewaySetup {
  gateway: RunningProcess
  client: RawClient
  server: FixtureServer
  /** The name that the gateway gives a tool of the server. */
  toolName(name: string): string
}

async function behindGateway(workspace: Workspace, cli: 'jackfield' | 'mcporter'): Promise<GatewaySetup> {
  const server = await workspace.fixture('destructive')
  const { command, args } = server
  const file =
    cli === 'jackfield'
      ? await writeConfig(workspace, { shop: server })
      : await workspace.write(
          'mcporter.json',
          JSON.stringify({ mcpServers: { shop: { command, args, lifecycle: 'keep-alive' } } }),
        )
  const argv = cli === 'jackfield' ? ['gateway', '--config', file] : ['serve', '--stdio', '--config', file]
  const gateway = workspace.start(cli, argv, { timeoutMs: 120_000 })
  const client = new RawClient(gateway)
  await client.initialize()
  const { result } = await client.request('tools/list', {})
  const names = JSON.stringify(result ?? {}).matchAll(/"name":"(\w+)"/g)
  const tools = [...names].map(([, name = '']) => name)
  return {
    gateway,
    client,
    server,
    toolName: (name) => tools.find((tool) => tool.endsWith(name)) ?? name,
  }
}

async function callArguments(server: FixtureServer): Promise<Record<string, unknown>[]> {
  const received = await server.received()
  return received.flatMap(({ method, params }) => {
    const args = params?.['arguments']
    return method === 'tools/call' && typeof args === 'object' && args !== null ? [{ ...args }] : []
  })
}

/** Waits for a question in the inbox of Jackfield and returns its id. */
async function waitForQuestion(workspace: Workspace): Promise<string> {
  for (let tries = 0; tries < 8; tries += 1) {
    const { stdout } = await workspace.run('jackfield', ['inbox'])
    const id = /^([0-9a-f]{8})\s/m.exec(stdout)?.[1]
    if (id !== undefined) return id
    await pause(250)
  }
  throw new CheckFailed('no question appeared')
}

const destructiveCall: Script = {
  id: 'destructive-call-asks',
  capability: 'C3',
  title: 'Approve a destructive call of another program before the server receives it',
  how: 'A program calls a tool with `destructiveHint` through the gateway, without any rules. The server must receive the call only after the approval.',
  checks: onlyFor(
    {
      jackfield: async (workspace) => {
        const { client, server, toolName } = await behindGateway(workspace, 'jackfield')
        const response = client.request('tools/call', {
          name: toolName('delete_folder'),
          arguments: { path: 'old' },
        })
        const id = await waitForQuestion(workspace)
        const callsBefore = await callArguments(server)
        const result = await workspace.run('jackfield', ['respond', id, '--allow'])
        await response
        return judge(
          [callsBefore.length === 0, 'the server was called before the approval'],
          [
            (await callArguments(server)).length === 1,
            `approved, but the server was not called; ${summarize(result)}`,
          ],
        )
      },
      mcporter: async (workspace) => {
        const { client, server, toolName, gateway } = await behindGateway(workspace, 'mcporter')
        const name = toolName('delete_folder')
        await client.request('tools/call', { name, arguments: { path: 'old' } }, { timeoutMs: 15_000 })
        const callCount = (await callArguments(server)).length
        return judge(
          [callCount === 0, 'the call was sent to the server without a question'],
          [false, `the server received no call; ${gateway.stderr.slice(0, 120)}`],
        )
      },
    },
    noGateway,
  ),
}

const rules = [
  { id: 'keep-these', verdict: 'deny', tool: 'delete_*', arguments: [{ at: '/path', inside: ['keep'] }] },
]

const denyByArgument: Script = {
  id: 'deny-by-argument',
  capability: 'C3',
  title: 'Deny a tool for some arguments, regardless of how the path is written',
  how: 'A rule denies deletion in the folder `keep`. The server must receive the call for `old`, and not those for `keep/letters` and `old/../keep/letters`.',
  checks: onlyFor(
    {
      jackfield: async (workspace) => {
        const server = await workspace.fixture('destructive')
        const file = await writeConfig(workspace, { shop: server }, { jackfield: { rules } })
        for (const path of ['old', 'keep/letters', 'old/../keep/letters']) {
          await workspace.run('jackfield', [
            'call',
            'shop',
            'delete_folder',
            `path=${path}`,
            '--config',
            file,
          ])
        }
        const paths = (await callArguments(server)).map(({ path }) => path)
        return judge([paths.join() === 'old', `the server was called with ${paths.join(', ') || 'nothing'}`])
      },
    },
    noRules,
  ),
}

const longText = Array.from({ length: 65_536 }, (_, n) => `line ${n % 9973} é✓\n`)
  .join('')
  .slice(0, 1_000_000)
const sha256 = (text: unknown): string => createHash('sha256').update(String(text)).digest('hex')

const wholeArgument: Script = {
  id: 'whole-argument-shown',
  capability: 'C3',
  title: 'Review a long argument in full before approving the call',
  how: 'A program sends a letter of a million characters through the gateway. The text in the question and the text that the server receives after the approval must have the SHA-256 of the letter.',
  checks: onlyFor(
    {
      jackfield: async (workspace) => {
        const { client, server, toolName } = await behindGateway(workspace, 'jackfield')
        const response = client.request('tools/call', {
          name: toolName('send_letter'),
          arguments: { text: longText },
        })
        const id = await waitForQuestion(workspace)
        const listing = await workspace.run('jackfield', ['inbox', id, '--json'])
        const text = longestString(JSON.parse(listing.stdout))
        await workspace.run('jackfield', ['respond', id, '--allow'])
        await response
        const sentText = (await callArguments(server))[0]?.['text']
        return judge(
          [sha256(text) === sha256(longText), `the question has another text, of ${text.length} characters`],
          [sha256(sentText) === sha256(longText), 'the server received another text'],
        )
      },
    },
    noApproval,
  ),
}

/** The longest string anywhere in a JSON value. */
function longestString(value: unknown): string {
  if (typeof value === 'string') return value
  if (typeof value !== 'object' || value === null) return ''
  return Object.values(value)
    .map(longestString)
    .reduce((longer, other) => (other.length > longer.length ? other : longer), '')
}

const editedArguments: Script = {
  id: 'edited-arguments-are-sent',
  capability: 'C3',
  title: 'Edit the arguments of a call while approving it',
  how: 'A program asks to delete `everything`. The approval changes the path to `old`. The server must receive only `old`.',
  checks: onlyFor(
    {
      jackfield: async (workspace) => {
        const { client, server, toolName } = await behindGateway(workspace, 'jackfield')
        const name = toolName('delete_folder')
        const response = client.request('tools/call', { name, arguments: { path: 'everything' } })
        const id = await waitForQuestion(workspace)
        const result = await workspace.run('jackfield', [
          'respond',
          id,
          '--allow',
          '--args',
          '{"path":"old"}',
        ])
        await response
        const paths = (await callArguments(server)).map(({ path }) => path)
        return judge([
          paths.join() === 'old',
          `the server received ${paths.join(', ') || 'nothing'}; ${summarize(result)}`,
        ])
      },
    },
    noApproval,
  ),
}

const denyingRule: Script = {
  id: 'says-which-rule',
  capability: 'C3',
  title: 'Learn which rule denied a call, and in which file it is, also before the call',
  how: 'The output of the denied call and of `policy explain` must contain the rule `keep-these`, and one of them its file. The server must receive no call.',
  checks: onlyFor(
    {
      jackfield: async (workspace): Promise<Verdict> => {
        const server = await workspace.fixture('destructive')
        const file = await writeConfig(workspace, { shop: server }, { jackfield: { rules } })
        const argv = ['shop', 'delete_folder', 'path=keep/letters', '--config', file]
        const denied = await workspace.run('jackfield', ['call', ...argv])
        const explanation = await workspace.run('jackfield', ['policy', 'explain', ...argv])
        const outputs = [denied.stderr + denied.stdout, explanation.stdout]
        return judge(
          [
            outputs.every((text) => text.includes('keep-these')),
            `the rule is not named; ${summarize(denied)}`,
          ],
          [
            outputs.some((text) => text.includes('servers.json')),
            `the file is not named; ${summarize(explanation)}`,
          ],
          [(await callArguments(server)).length === 0, 'the server was called'],
        )
      },
    },
    noRules,
  ),
}

export const scripts: Script[] = [
  destructiveCall,
  denyByArgument,
  wholeArgument,
  editedArguments,
  denyingRule,
]
