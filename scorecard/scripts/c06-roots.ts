import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { everyCli, judge, onlyFor, summarize } from '../checks.ts'
import { callTool, connectMcpdo, writeConfig } from '../commands.ts'
import type { FixtureServer, ProcessResult, Script, Workspace } from '../types.ts'

/** The messages with roots that the server received. */
async function rootsSent(server: FixtureServer): Promise<string[]> {
  return (await server.received()).map(({ raw }) => raw).filter((raw) => raw.includes('"roots":['))
}

const rootsNeedConsent: Script = {
  id: 'folders-need-consent',
  capability: 'C6',
  title: 'Send no roots to a server without consent',
  how: 'A tool asks for the roots, in a run without a terminal and without configured roots. The server must receive no folder, including the working folder.',
  checks: everyCli(async (workspace, cli) => {
    const server = await workspace.fixture('input-requests', 'session')
    const result = await callTool(workspace, cli, server, ['folders', {}])
    const folders = (await rootsSent(server)).filter((raw) => raw.includes('file:'))
    return judge(
      [folders.length === 0, `the server received ${folders[0]?.slice(0, 200)}`],
      [!result.timedOut, `the call did not end; ${summarize(result)}`],
    )
  }),
}

const rootsPerServer: Script = {
  id: 'folders-per-server',
  capability: 'C6',
  title: 'Allow a root for one server and not for another',
  how: 'Two servers ask for the roots, and one is allowed the folder `plans`. It must receive exactly that folder, the other server none.',
  checks: onlyFor(
    {
      jackfield: async (workspace) => {
        const [one, other] = [
          await workspace.fixture('input-requests', 'session'),
          await workspace.fixture('input-requests', 'session'),
        ]
        const plans = join(workspace.cwd, 'plans')
        await mkdir(plans)
        const file = await writeConfig(workspace, { one, other })
        const config = ['--config', file]
        const added = await workspace.run('jackfield', ['roots', 'add', plans])
        const allowed = await workspace.run('jackfield', ['roots', 'allow', 'one', plans, ...config])
        for (const name of ['one', 'other'])
          await workspace.run('jackfield', ['call', name, 'folders', ...config])
        return checkRoots(one, other, [added, allowed])
      },
      mcpdo: async (workspace) => {
        const [one, other] = [
          await workspace.fixture('input-requests', 'session'),
          await workspace.fixture('input-requests', 'session'),
        ]
        const file = await writeConfig(workspace, { one, other })
        const results: ProcessResult[] = []
        for (const name of ['one', 'other']) results.push(await connectMcpdo(workspace, file, { name }))
        const roots = JSON.stringify([{ uri: `file://${join(workspace.cwd, 'plans')}`, name: 'plans' }])
        const set = await workspace.run('mcpdo', ['@one', 'roots/set', '--roots-json', roots])
        for (const name of ['one', 'other'])
          await workspace.run('mcpdo', [`@${name}`, 'tools/call', 'folders', '{}'])
        return checkRoots(one, other, [...results, set])
      },
    },
    'does not set the roots of a server',
  ),
}

async function checkRoots(one: FixtureServer, other: FixtureServer, results: ProcessResult[]) {
  const [firstRoots, secondRoots] = [await rootsSent(one), await rootsSent(other)]
  const failed = results.find(({ code }) => code !== 0)
  const uriCount = (raw = ''): number => raw.split('"uri":').length - 1
  return judge(
    [failed === undefined, failed === undefined ? '' : summarize(failed)],
    [
      uriCount(firstRoots.at(-1)) === 1 && firstRoots.join().includes('/plans'),
      `the first server received ${firstRoots.join() || 'nothing'}`,
    ],
    [secondRoots.every((raw) => uriCount(raw) === 0), `the other server received ${secondRoots.join()}`],
  )
}

const sandboxEnforced: Script = {
  id: 'folders-enforced',
  capability: 'C6',
  title: 'Run a server in a sandbox that can read only the allowed folders',
  how: 'A server reads any path. Without a sandbox it must be able to read `secret.txt` in the home folder, as a control. With `"sandbox": {"read": ["plans"]}` it must be able to read `plans/open.txt` and not the secret.',
  checks: onlyFor(
    {
      jackfield: async (workspace) => {
        const { secret, open } = await writeFiles(workspace)
        const server = await workspace.fixture('file-reader')
        const openConfig = await writeConfig(workspace, { shop: server })
        const control = await readWith(workspace, openConfig, secret)
        const { command, args } = server
        const sandbox = { read: [join(workspace.cwd, 'plans')] }
        const sandboxedConfig = await workspace.write(
          'sandboxed.json',
          JSON.stringify({ mcpServers: { shop: { command, args, sandbox } } }),
        )
        const [outsideResult, insideResult] = [
          await readWith(workspace, sandboxedConfig, secret),
          await readWith(workspace, sandboxedConfig, open),
        ]
        return judge(
          [
            control.stdout.includes('content: me'),
            `not readable without the sandbox either; ${summarize(control)}`,
          ],
          [
            insideResult.stdout.includes('content: me'),
            `the allowed file cannot be read; ${summarize(insideResult)}`,
          ],
          [!outsideResult.stdout.includes('content: me'), 'the secret was read'],
        )
      },
    },
    'runs servers with all permissions of the user',
  ),
}

async function writeFiles(workspace: Workspace): Promise<{ secret: string; open: string }> {
  const open = await workspace.write('plans/open.txt', 'me')
  const secret = await workspace.write('../home/secret.txt', 'me')
  return { secret, open }
}

function readWith(workspace: Workspace, config: string, path: string): Promise<ProcessResult> {
  return workspace.run('jackfield', ['call', 'shop', 'read', `path=${path}`, '--config', config])
}

export const scripts: Script[] = [rootsNeedConsent, rootsPerServer, sandboxEnforced]
